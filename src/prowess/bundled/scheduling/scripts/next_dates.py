#!/usr/bin/env python3
"""Print the next dates of a small RFC 5545 recurrence as JSON.

Times are wall-clock times of the zone: 09:00 stays 09:00 across a clock change. A time
that the clocks skip moves forward by the gap; of a time that happens twice, the first
one counts.
"""

from __future__ import annotations

import argparse
import calendar
import difflib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import cast
from zoneinfo import ZoneInfo, available_timezones

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
PARTS = ("FREQ", "INTERVAL", "BYDAY", "COUNT", "UNTIL")
SHORTEST_MONTH = 28
MAX_DATES = 1_000
MAX_PERIODS = 200_000  # days, weeks, months or years looked at: no rule runs for ever
MAX_RULE_CHARS = 500
FIRST_YEAR, LAST_YEAR = 1900, 9000  # far enough from datetime's ends for any offset

BYDAY_ITEM = re.compile(r"(?:([+-]?)([1-9][0-9]?))?(MO|TU|WE|TH|FR|SA|SU)")
UNTIL_FORM = re.compile(r"[0-9]{8}(T[0-9]{6}Z?)?")


class InputError(Exception):
    """Something that the caller wrote is wrong; the message says what to write instead."""


@dataclass(frozen=True, slots=True)
class Weekday:
    """A day of the week (Monday is 0), perhaps only the nth of its month or year."""

    day: int
    nth: int | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A recurrence; `until` is a date, a wall-clock time, or an instant in UTC."""

    frequency: str
    interval: int
    weekdays: tuple[Weekday, ...]
    count: int | None
    until: date | datetime | None


@dataclass(frozen=True, slots=True)
class Start:
    """The first wall-clock moment; `at` is None for a whole day."""

    day: date
    at: time | None
    zone: ZoneInfo


def parse_number(text: str, *, part: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,4}", text):
        raise InputError(f"{part}={text!r} is not a whole number from 1 to 99999")
    return int(text)


def parse_weekday(text: str, *, frequency: str) -> Weekday:
    match = BYDAY_ITEM.fullmatch(text)
    if match is None:
        raise InputError(f"BYDAY item {text!r} is wrong; write MO, TU … SU, or 1MO, -1FR")
    sign, digits, day = cast("tuple[str | None, str | None, str]", match.groups())
    if digits is None:
        return Weekday(day=DAYS.index(day), nth=None)
    longest = {"MONTHLY": 5, "YEARLY": 53}.get(frequency)
    if longest is None:
        raise InputError(f"BYDAY item {text!r} has a number; that needs MONTHLY or YEARLY")
    if int(digits) > longest:
        raise InputError(f"BYDAY item {text!r}: {frequency} allows 1 to {longest}")
    return Weekday(day=DAYS.index(day), nth=int(f"{sign or ''}{digits}"))


def parse_until(text: str) -> date | datetime:
    if not UNTIL_FORM.fullmatch(text):
        raise InputError(f"UNTIL={text!r} is wrong; write 20261231 or 20261231T225959Z")
    try:
        if "T" not in text:
            return date.fromisoformat(text)
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"UNTIL={text!r} is no real date: {error}") from error


def parse_parts(text: str) -> dict[str, str]:
    if len(text) > MAX_RULE_CHARS:
        raise InputError(f"the rule is longer than {MAX_RULE_CHARS} characters")
    parts: dict[str, str] = {}
    for item in text.upper().removeprefix("RRULE:").split(";"):
        name, equals, value = item.partition("=")
        if not equals or not value:
            raise InputError(f"rule part {item!r} is not NAME=VALUE; parts are joined by ';'")
        if name not in PARTS:
            raise InputError(f"rule part {name!r} is not supported; use {', '.join(PARTS)}")
        if name in parts:
            raise InputError(f"rule part {name} is given twice; keep one")
        parts[name] = value
    return parts


def parse_rule(text: str) -> Rule:
    parts = parse_parts(text)
    frequency = parts.get("FREQ")
    if frequency not in FREQUENCIES:
        raise InputError(f"FREQ must be one of {', '.join(FREQUENCIES)}, not {frequency!r}")
    if "COUNT" in parts and "UNTIL" in parts:
        raise InputError("COUNT and UNTIL exclude each other; keep one")
    days = parts["BYDAY"].split(",") if "BYDAY" in parts else []
    return Rule(
        frequency=frequency,
        interval=parse_number(parts.get("INTERVAL", "1"), part="INTERVAL"),
        weekdays=tuple(parse_weekday(day, frequency=frequency) for day in days),
        count=parse_number(parts["COUNT"], part="COUNT") if "COUNT" in parts else None,
        until=parse_until(parts["UNTIL"]) if "UNTIL" in parts else None,
    )


def parse_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        known = sorted(available_timezones())
        if not known:
            raise InputError("no time zone data here; install the tzdata package") from error
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        hint = ", ".join(near) or "Europe/Berlin, America/New_York, UTC"
        raise InputError(f"unknown time zone {name!r}; write a name such as {hint}") from error


def parse_iso(text: str) -> tuple[date, time | None]:
    try:
        return date.fromisoformat(text), None
    except ValueError:
        moment = datetime.fromisoformat(text)
        return moment.date(), moment.timetz()


def parse_moment(text: str, *, option: str) -> tuple[date, time | None]:
    """A wall-clock moment, or a whole day when no time is given."""
    try:
        day, at = parse_iso(text)
    except ValueError as error:
        form = "2026-03-27T09:00 or 2026-03-27"
        raise InputError(f"{option} {text!r} is not a date; write {form}") from error
    if at is not None and at.tzinfo is not None:
        raise InputError(f"{option} {text!r} has an offset; write local time and set --zone")
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise InputError(f"{option} {text!r}: the year must be {FIRST_YEAR} to {LAST_YEAR}")
    return day, at


def check_together(rule: Rule, start: Start) -> None:
    """UNTIL must end on the same kind of thing that START begins with."""
    if start.at is None and isinstance(rule.until, datetime):
        raise InputError("START is a whole day, so UNTIL must be a date such as 20261231")


def month_span(start: date, *, months: int) -> tuple[int, int]:
    index = start.year * 12 + start.month - 1 + months
    return index // 12, index % 12 + 1


def days_between(first: date, last: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def pick_weekdays(days: list[date], weekdays: tuple[Weekday, ...]) -> list[date]:
    """The days of one month or year that the weekdays name, each once, in order."""
    picked: set[date] = set()
    for weekday in weekdays:
        same = [day for day in days if day.weekday() == weekday.day]
        if weekday.nth is None:
            picked.update(same)
        elif abs(weekday.nth) <= len(same):
            picked.add(same[weekday.nth - 1 if weekday.nth > 0 else weekday.nth])
    return sorted(picked)


def same_day_in(year: int, month: int, day: int) -> list[date]:
    """No day where the month is too short: RFC 5545 skips such months."""
    return [date(year, month, day)] if day <= calendar.monthrange(year, month)[1] else []


def days_of_period(rule: Rule, start: date, *, period: int) -> list[date]:
    """The candidate days of the period-th day, week, month or year from the start."""
    steps = period * rule.interval
    wanted = {weekday.day for weekday in rule.weekdays}
    match rule.frequency:
        case "DAILY":
            day = start + timedelta(days=steps)
            return [day] if not wanted or day.weekday() in wanted else []
        case "WEEKLY":
            monday = start - timedelta(days=start.weekday()) + timedelta(weeks=steps)
            chosen = sorted(wanted) or [start.weekday()]
            return [monday + timedelta(days=day) for day in chosen]
        case "MONTHLY":
            year, month = month_span(start, months=steps)
            if not rule.weekdays:
                return same_day_in(year, month, start.day)
            last = calendar.monthrange(year, month)[1]
            days = days_between(date(year, month, 1), date(year, month, last))
            return pick_weekdays(days, rule.weekdays)
        case _:
            year = start.year + steps
            if not rule.weekdays:
                return same_day_in(year, start.month, start.day)
            return pick_weekdays(days_between(date(year, 1, 1), date(year, 12, 31)), rule.weekdays)


def is_past_until(day: date, start: Start, until: date | datetime | None) -> bool:
    if until is None:
        return False
    if not isinstance(until, datetime):
        return day > until
    local = datetime.combine(day, start.at or time(), tzinfo=start.zone)
    if until.tzinfo is None:
        return local.replace(tzinfo=None) > until
    return local.astimezone(UTC) > until


def recur(rule: Rule, start: Start) -> Iterator[date]:
    """The days of the recurrence, in order, until it or the search ends."""
    found = 0
    for period in range(MAX_PERIODS):
        try:
            days = days_of_period(rule, start.day, period=period)
        except (OverflowError, ValueError):  # the calendar of datetime ends here
            return
        for day in days:
            if day < start.day:
                continue
            if day.year > LAST_YEAR or is_past_until(day, start, rule.until):
                return
            yield day
            found += 1
            if found == rule.count:
                return


def describe(day: date, start: Start) -> dict[str, str | None]:
    weekday = DAYS[day.weekday()]
    if start.at is None:
        return {"local": day.isoformat(), "utc": None, "weekday": weekday, "note": None}
    wall = datetime.combine(day, start.at, tzinfo=start.zone)
    instant = wall.astimezone(UTC)
    local = instant.astimezone(start.zone)
    note = None
    if local.replace(tzinfo=None) != wall.replace(tzinfo=None):
        note = f"{start.at.isoformat()} is skipped by the clocks that day; moved forward"
    elif wall.utcoffset() != wall.replace(fold=1).utcoffset():
        note = f"{start.at.isoformat()} happens twice that day; this is the first"
    utc = instant.isoformat().replace("+00:00", "Z")
    return {"local": local.isoformat(), "utc": utc, "weekday": weekday, "note": note}


def find_warnings(rule: Rule, start: Start) -> list[str]:
    warnings: list[str] = []
    first = next(recur(rule, start), None)
    if first is None:
        warnings.append("the rule gives no date at all")
    elif first != start.day:
        warnings.append(f"START is not a date of the rule; the first is {first.isoformat()}")
    if rule.frequency == "MONTHLY" and not rule.weekdays and start.day.day > SHORTEST_MONTH:
        warnings.append(f"months without a day {start.day.day} are skipped")
    if rule.frequency == "YEARLY" and (start.day.month, start.day.day) == (2, 29):
        warnings.append("years without 29 February are skipped")
    return warnings


def answer(rule: Rule, start: Start, *, after: datetime | None, limit: int) -> dict[str, object]:
    dates: list[dict[str, str | None]] = []
    warnings = find_warnings(rule, start)
    more = False
    found = 0
    for day in recur(rule, start):
        found += 1
        if after and datetime.combine(day, start.at or time()) <= after:
            continue
        if len(dates) == limit:
            more = True
            break
        dates.append(describe(day, start))
    if not more and rule.until is None and found != rule.count:
        warnings.append(f"the search ended here, at year {LAST_YEAR} or {MAX_PERIODS} periods")
    return {
        "zone": start.zone.key,
        "all_day": start.at is None,
        "dates": dates,
        "more": more,
        "warnings": warnings,
    }


def parse_limit(text: str) -> int:
    limit = parse_number(text, part="--limit")
    if limit > MAX_DATES:
        raise InputError(f"--limit {limit} is too high; the most is {MAX_DATES}")
    return limit


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Print the next dates of a recurrence as JSON.",
        epilog="example: next_dates.py 2026-03-27T09:00 --zone Europe/Berlin --rule 'FREQ=WEEKLY;BYDAY=MO,FR;COUNT=6'",
    )
    parser.add_argument("start", help="local date and time, or a date for whole days")
    parser.add_argument("--zone", required=True, help="time zone name, such as Europe/Berlin")
    parser.add_argument("--rule", default="FREQ=DAILY;COUNT=1", help="default: once")
    parser.add_argument("--after", help="only dates after this local date or time")
    parser.add_argument("--limit", default="10", help=f"how many, at most {MAX_DATES}")
    return parser.parse_args()


def read_answer(arguments: argparse.Namespace) -> dict[str, object]:
    given = cast("dict[str, str | None]", vars(arguments))
    day, at = parse_moment(given["start"] or "", option="START")
    start = Start(day=day, at=at, zone=parse_zone(given["zone"] or ""))
    rule = parse_rule(given["rule"] or "")
    check_together(rule, start)
    after = None
    if given["after"] is not None:
        after_day, after_at = parse_moment(given["after"], option="--after")
        after = datetime.combine(after_day, after_at or time.max)
    return answer(rule, start, after=after, limit=parse_limit(given["limit"] or ""))


def main() -> int:
    try:
        result = read_answer(parse_arguments())
    except InputError as error:
        print(f"next_dates: {error}", file=sys.stderr)
        return 2
    print(json.dumps(result, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
