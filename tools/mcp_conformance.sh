#!/bin/sh
# Checks `prowess mcp` by what others have written: the MCP inspector over standard input and output, and the protocol's
# conformance checks over HTTP. Of those, the ones that presuppose a server with tools, resources and prompts of certain
# names cannot be met by any other, and are left out. Needs npm; a newer Node than this machine's is fetched for the time.
set -eu

ROOT=$(cd "$(dirname "$0")/.." && pwd)
PROWESS="$ROOT/.venv/bin/prowess"
SCENARIOS="server-initialize ping tools-list resources-list prompts-list completion-complete \
server-sse-multiple-streams dns-rebinding-protection"
WORK=$(mktemp -d)
SERVER=
trap '[ -z "$SERVER" ] || kill "$SERVER"; rm -rf "$WORK"' EXIT

npm install --silent --no-audit --no-fund --prefix "$WORK" \
    node@22 @modelcontextprotocol/inspector@0.15.0 @modelcontextprotocol/conformance@0.1.16
NODE="$WORK/node_modules/node/bin/node"
BIN="$WORK/node_modules/.bin"

mkdir -p "$WORK/home" "$WORK/project" "$WORK/skills/greet"
printf -- '---\nname: greet\ndescription: Greets people. Use when greeting.\n---\nGreet $ARGUMENTS.\n' >"$WORK/skills/greet/SKILL.md"
cd "$WORK/project"
export HOME="$WORK/home"
unset PROWESS_HOME PROWESS_TOKEN PROWESS_CONFIG

inspect() {
    echo "== inspector: $*"
    "$NODE" "$BIN/mcp-inspector" --cli "$PROWESS" --skills "$WORK/skills" mcp --method "$@" >"$WORK/answer.json"
    "$NODE" -e 'const answer = JSON.parse(require("fs").readFileSync(process.argv[1])); if (answer.isError) process.exit(1)' \
        "$WORK/answer.json"
}

inspect tools/list
inspect tools/call --tool-name activate_skill --tool-arg name=greet
inspect resources/list
inspect resources/templates/list
inspect resources/read --uri skill://project/greet/SKILL.md
inspect prompts/list
inspect prompts/get --prompt-name greet --prompt-args arguments=Ada

"$PROWESS" --skills "$WORK/skills" mcp --http 127.0.0.1:0 --no-token 2>"$WORK/server.log" &
SERVER=$!
until grep -q '^MCP: ' "$WORK/server.log"; do
    kill -0 "$SERVER"
    sleep 0.2
done
URL=$(sed -n 's/^MCP: //p' "$WORK/server.log")
for scenario in $SCENARIOS; do
    echo "== conformance: $scenario"
    "$NODE" "$BIN/conformance" server --url "$URL" --scenario "$scenario" >"$WORK/report" || {
        cat "$WORK/report"
        exit 1
    }
done
echo "all checks passed"
