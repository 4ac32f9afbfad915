#!/usr/bin/env bash
# dynoxide 1.2.1: at the end of a page of 1 MB, a query or scan without a filter says that it has
# scanned one item more than it returns.
#
# DynamoDB documents that without a filter ScannedCount is Count. A program that takes their
# difference for what a filter has left out finds items that do not exist, one for each page that
# ends at 1 MB, and their sum over all pages is not the number of items. No item is lost: the next
# page begins with the one that was counted too early.
#
# Seen: dynoxide 1.2.1 of the npm package @dynoxide/linux-x64, on x86-64, with Node 20.
set -euo pipefail
dir=$(mktemp -d) && trap 'kill "${engine:-}" 2>/dev/null; rm -rf "$dir"' EXIT && cd "$dir"
npm install --silent --no-save --ignore-scripts --no-audit --no-fund @dynoxide/linux-x64@1.2.1 @aws-sdk/client-dynamodb@3.1169.0 >/dev/null
program=$(find node_modules/@dynoxide -type f -name dynoxide)
chmod +x "$program"
"$program" --host 127.0.0.1 --port 18473 >/dev/null 2>&1 &
engine=$!

cat >seen.js <<'JS'
const { DynamoDB } = require('@aws-sdk/client-dynamodb');
const db = new DynamoDB({
  endpoint: 'http://127.0.0.1:18473', region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' }, maxAttempts: 10,
});
(async () => {
  await db.createTable({
    TableName: 'Shop', BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
  });
  for (let n = 0; n < 6; n++) {
    await db.putItem({ TableName: 'Shop', Item: { pk: { S: 'PHOTOS' }, sk: { S: String(n) }, data: { S: 'x'.repeat(390_000) } } });
  }
  const query = { KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': { S: 'PHOTOS' } } };
  for (const Select of ['ALL_ATTRIBUTES', 'COUNT']) {
    for (const [name, call] of [['query', (more) => db.query({ ...query, ...more })], ['scan', (more) => db.scan(more)]]) {
      const pages = [];
      let start;
      do {
        const page = await call({ TableName: 'Shop', Select, ExclusiveStartKey: start });
        pages.push(`${page.Count}/${page.ScannedCount}`);
        start = page.LastEvaluatedKey;
      } while (start);
      console.log(`${name}, ${Select}: count/scanned of each page: ${pages.join(' ')}`);
    }
  }
})();
JS

diff - <(node --no-warnings seen.js) <<'EOT' && echo "as stated"
query, ALL_ATTRIBUTES: count/scanned of each page: 2/3 2/3 2/2
scan, ALL_ATTRIBUTES: count/scanned of each page: 2/3 2/3 2/2
query, COUNT: count/scanned of each page: 2/3 2/3 2/2
scan, COUNT: count/scanned of each page: 2/3 2/3 2/2
EOT
