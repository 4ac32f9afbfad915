#!/usr/bin/env bash
# dynamodb-onetable 2.7.7: an attribute with unique: true is not unique after an update by set, and
# other writes leave its former value taken.
#
# One would expect that each write of a unique attribute moves the item that keeps the value, in
# the same transaction, as update({id, email}) does.
#   - update({id}, {set: {email}}) is an ordinary update. The new e-mail is not taken, so another
#     user can have it as well, and the former one is taken by nobody, for ever.
#   - update({id}, {remove: ['email']}), and create({id, email}, {exists: null}) over an existing
#     user, leave the item of the former e-mail: nobody can have that any more.
# Nothing reports it. The users have to be compared with the items of the type _Unique.
#
# Seen: dynamodb-onetable 2.7.7 with Node 20, by the requests that it sends.
set -euo pipefail
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
npm install --silent --no-save --ignore-scripts --no-audit --no-fund dynamodb-onetable@2.7.7 @aws-sdk/client-dynamodb@3.1169.0 >/dev/null

cat >seen.js <<'JS'
const { marshall, unmarshall } = require('@aws-sdk/util-dynamodb');
const { Table } = require('dynamodb-onetable');
const stored = marshall({ pk: 'user#1', sk: 'profile', _type: 'User', id: '1', email: 'ana@example.com' });
let sent;
const client = {
  async send({ constructor: { name }, input }) {
    if (name === 'GetItemCommand') return { Item: stored };
    for (const op of name === 'TransactWriteItemsCommand' ? input.TransactItems : [{ [name]: input }]) {
      const [[kind, { Key, Item }]] = Object.entries(op);
      sent.push(`${kind.replace(/(Item)?(Command)?$/, '')} ${unmarshall(Key ?? Item).pk}`);
    }
    return { Attributes: stored };
  },
};
const shop = new Table({
  client, name: 'shop', partial: true,
  schema: {
    format: 'onetable:1.1.0', version: '0.0.1', indexes: { primary: { hash: 'pk', sort: 'sk' } },
    models: { User: {
      pk: { type: String, value: 'user#${id}' }, sk: { type: String, value: 'profile' },
      id: { type: String, required: true }, email: { type: String, unique: true },
    } },
  },
});
const User = shop.getModel('User');
(async () => {
  for (const [name, call] of [
    ['update({id, email})', () => User.update({ id: '1', email: 'ana@example.org' })],
    ['update({id}, {set: {email}})', () => User.update({ id: '1' }, { set: { email: 'ana@example.org' } })],
    ['update({id, email: null})', () => User.update({ id: '1', email: null })],
    ["update({id}, {remove: ['email']})", () => User.update({ id: '1' }, { remove: ['email'] })],
    ['create({id, email}, {exists: null})', () => User.create({ id: '1', email: 'ana@example.org' }, { exists: null })],
  ]) {
    sent = [];
    await call();
    console.log(`${name}: ${sent.join(', ')}`);
  }
})();
JS

diff - <(node --no-warnings seen.js) <<'EOT' && echo "as stated"
update({id, email}): Delete _unique#User#email#ana@example.com, Put _unique#User#email#ana@example.org, Update user#1
update({id}, {set: {email}}): Update user#1
update({id, email: null}): Delete _unique#User#email#ana@example.com, Update user#1
update({id}, {remove: ['email']}): Update user#1
create({id, email}, {exists: null}): Put _unique#User#email#ana@example.org, Put user#1
EOT
