#!/usr/bin/env bash
# @keyv/dynamo 1.2.4 lets a value expire after six hours that was stored without a lifetime.
#
# One would expect what Keyv promises: a value without a ttl never expires. The adapter makes its
# table with time to live on, and gives such a value an expiry six hours from now; the text that
# Keyv stores in it has none. So DynamoDB deletes what a program has stored for good, and a program
# in another language that follows the attribute does not see it after six hours.
# Besides, clear() of an adapter without a namespace deletes what the first page of the table has,
# whoever has written it, and in one request, which DynamoDB refuses for more than 25 items.
#
# Seen: @keyv/dynamo 1.2.4 with keyv 5.6.0 and Node 20, by the requests that it sends.
set -euo pipefail
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
npm install --silent --no-save --ignore-scripts --no-audit --no-fund @keyv/dynamo@1.2.4 keyv@5.6.0 >/dev/null

cat >seen.mjs <<'JS'
import http from 'node:http';
import { createKeyv } from '@keyv/dynamo';
const items = Array.from({ length: 30 }, (_, i) => ({ id: { S: `order-${i}` } }));
const server = http.createServer((req, res) => {
  let body = '';
  req.on('data', (d) => { body += d; }).on('end', () => {
    const operation = req.headers['x-amz-target'].split('.')[1], input = JSON.parse(body);
    if (operation === 'PutItem') {
      const hours = (Number(input.Item.expiresAt.N) - Date.now() / 1000) / 3600;
      console.log(`set: ${input.Item.value.S.replace(/[0-9]{13}/, '…')}, expires after ${hours.toFixed(1)} hours`);
    }
    if (operation === 'BatchWriteItem') console.log(`clear: ${input.RequestItems.shop.length} deletions in one request, of ${input.RequestItems.shop[0].DeleteRequest.Key.id.S} first`);
    const out = { DescribeTable: { Table: { TableName: 'shop', TableStatus: 'ACTIVE' } }, Scan: { Items: items, Count: 30 }, BatchGetItem: { Responses: { shop: items.map((i) => ({ ...i, value: { S: 'x' } })) } } };
    res.setHeader('content-type', 'application/x-amz-json-1.0').end(JSON.stringify(out[operation] ?? {}));
  });
}).listen(0, async () => {
  const keyv = createKeyv({ tableName: 'shop', region: 'eu-west-1', endpoint: `http://127.0.0.1:${server.address().port}`, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
  await keyv.set('profile', 'kept');
  await keyv.set('code', 'short', 3600e3);
  await keyv.clear();
  process.exit(0);
});
JS
diff - <(node seen.mjs 2>/dev/null) <<'EOT' && echo "as stated"
set: {"value":"kept"}, expires after 6.0 hours
set: {"value":"short","expires":…}, expires after 1.0 hours
clear: 30 deletions in one request, of order-0 first
EOT
