'use strict';
const dynamoose = require('dynamoose');

module.exports = ({ client, table }) => {
  dynamoose.aws.ddb.set(client);
  const schema = new dynamoose.Schema({
    pk: { type: String, hashKey: true }, sk: { type: String, rangeKey: true },
    gsi1pk: { type: String, index: { name: 'gsi1', type: 'global', rangeKey: 'gsi1sk' } }, gsi1sk: String,
    customerId: String, orderId: String, status: String, total: Number, placed: Date, sent: Date,
    tags: { type: Set, schema: [String] }, address: { type: Object, schema: { street: String } },
    photo: Buffer, note: { type: [String, dynamoose.type.NULL] },
  }, { timestamps: true });
  const Order = dynamoose.model(`Order ${table}`, schema, { tableName: table, create: false, waitForActive: false });
  new dynamoose.Table(table, [Order], { create: false, update: false, waitForActive: false });
  const keys = ({ customerId, orderId }) => ({ pk: `CUSTOMER#${customerId}`, sk: `ORDER#${orderId}` });
  const whole = (v) => ({ ...v, ...keys(v), gsi1pk: `STATUS#${v.status}`, gsi1sk: `${v.placed.toISOString()}#${v.orderId}` });
  // A document shows itself in a JSON of its own.
  const shown = (document) => document && { ...document };
  let held; // what was read last
  return {
    create: async (v) => shown(await Order.create(whole(v))),
    put: async (v) => shown(await Order.create(whole(v), { overwrite: true })),
    update: async (key, v) => shown(await Order.update(keys(key), v)),
    get: async (key) => { held = await Order.get(keys(key)); return shown(held); },
    save: async (set) => shown(await Object.assign(held, set).save()),
    remove: (key) => Order.delete(keys(key)),
    list: async (customerId) => (await Order.query('pk').eq(`CUSTOMER#${customerId}`).exec()).map(shown),
    byStatus: async (status) => (await Order.query('gsi1pk').eq(`STATUS#${status}`).using('gsi1').exec()).map(shown),
    page: async (customerId, cursor) => {
      const query = Order.query('pk').eq(`CUSTOMER#${customerId}`).limit(1);
      const data = await (cursor ? query.startAt(cursor) : query).exec();
      return { data: data.map(shown), cursor: data.lastKey };
    },
  };
};
