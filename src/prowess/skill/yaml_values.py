"""What YAML becomes in Prowess: text, lists and maps with text keys. Text stays as it was written."""

from typing import TypeAlias, Union

__all__ = ["YamlMap", "YamlValue"]

YamlValue: TypeAlias = Union[str, list["YamlValue"], dict[str, "YamlValue"]]
YamlMap: TypeAlias = dict[str, YamlValue]
