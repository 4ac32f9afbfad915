#!/usr/bin/env bash
# connect-dynamodb 3.0.5: its reap() ends sessions that have not expired, if the table has expired
# items of anybody else.
#
# One would expect that a store of sessions deletes sessions, which it can tell by the prefix of
# their keys and by the type that it writes. reap() scans for all items whose "expires" is past. Of
# each key it cuts off as many characters as the prefix has, puts the prefix before the rest, and
# deletes the item of that key. An expired "cart:1234" ends the session "sess:1234", of which
# nothing was read, and stays itself.
# The expiry of a session has a fraction if the age of its cookie is no whole number of seconds.
#
# Seen: connect-dynamodb 3.0.5 with express-session 1.19.0 and Node 20, by the requests that
# it sends.
set -euo pipefail
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
npm install --silent --no-save --ignore-scripts --no-audit --no-fund connect-dynamodb@3.0.5 express-session@1.19.0 @aws-sdk/client-dynamodb@3.1169.0 >/dev/null

cat >seen.js <<'JS'
const DynamoDBStore = require('connect-dynamodb')(require('express-session'));
const client = {
  async send(command) {
    const { name } = command.constructor;
    if (name === 'PutItemCommand') console.log('stored: a fraction of a second in expires:', !Number.isInteger(Number(command.input.Item.expires.N)));
    if (name === 'DeleteItemCommand') console.log('deleted:', command.input.Key.id.S);
    return name === 'ScanCommand' ? { Count: 1, Items: [{ id: { S: 'cart:1234' } }] } : {};
  },
};
const store = new DynamoDBStore({ table: 'shop', client });
store.set('1234', { cookie: { maxAge: 1500 } }, () => {
  console.log('an item that has expired: cart:1234');
  store.reap(() => {});
});
JS

diff - <(node seen.js 2>/dev/null) <<'EOT' && echo "as stated"
stored: a fraction of a second in expires: true
an item that has expired: cart:1234
deleted: sess:1234
EOT
