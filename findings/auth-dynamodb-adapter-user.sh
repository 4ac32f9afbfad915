#!/usr/bin/env bash
# @auth/dynamodb-adapter 2.11.3: updateUser does not move a user to a new e-mail, and deleteUser
# returns a user that it has not deleted.
#
# One would expect that the adapter of Auth.js finds a user by the e-mail that it has just stored,
# and that what deleteUser returns is gone.
#   - A user is found by e-mail through an index, whose key is made of it. updateUser sets the
#     attribute email and leaves the key: getUserByEmail finds the user by the former e-mail, and
#     nobody by the new one. Who signs in with the new one becomes a second user.
#   - deleteUser deletes 25 items of the user, in the order of the sort keys: ACCOUNT#, SESSION#,
#     USER#. The user is the last of them. With 25 sessions and accounts or more, and sessions that
#     have expired count too, the user stays, and so do the other sessions. There is no error, and
#     the result is the user. What a batch leaves unprocessed stays as well.
#
# Seen: @auth/dynamodb-adapter 2.11.3 with Node 20, by the requests that it sends.
set -euo pipefail
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
npm install --silent --no-save --ignore-scripts --no-audit --no-fund @auth/dynamodb-adapter@2.11.3 @aws-sdk/client-dynamodb@3.1169.0 @aws-sdk/lib-dynamodb@3.1169.0 >/dev/null

cat >seen.mjs <<'JS'
import { DynamoDBAdapter } from '@auth/dynamodb-adapter';
const user = { pk: 'USER#1', sk: 'USER#1', type: 'USER', id: '1', email: 'ana@example.com', GSI1PK: 'USER#ana@example.com' };
const session = (n) => ({ pk: 'USER#1', sk: `SESSION#${n}`, type: 'SESSION', sessionToken: String(n) });
const client = {
  async put({ Item }) { console.log('createUser stores the key of the index:', Item.GSI1PK); },
  async update({ UpdateExpression }) {
    console.log('updateUser:', UpdateExpression);
    return { Attributes: { ...user, email: 'ana@example.org' } };
  },
  async query() { return { Items: [...Array.from({ length: 30 }, (_, i) => session(10 + i)), user] }; },
  async batchWrite({ RequestItems }) {
    const deleted = RequestItems.auth.map((r) => r.DeleteRequest.Key.sk);
    console.log(`deleteUser deletes ${deleted.length} of 31 items; the user is one of them: ${deleted.includes('USER#1')}`);
    return { UnprocessedItems: {} };
  },
};
const adapter = DynamoDBAdapter(client, { tableName: 'auth' });
await adapter.createUser({ email: 'ana@example.com', emailVerified: null });
await adapter.updateUser({ id: '1', email: 'ana@example.org' });
console.log('deleteUser returns', (await adapter.deleteUser('1')).id);
JS

diff - <(node seen.mjs) <<'EOT' && echo "as stated"
createUser stores the key of the index: USER#ana@example.com
updateUser: set #id = :id, #email = :email
deleteUser deletes 25 of 31 items; the user is one of them: false
deleteUser returns 1
EOT
