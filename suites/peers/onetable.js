'use strict';
const { Table } = require('dynamodb-onetable');

module.exports = ({ client, table }) => {
  const shop = new Table({
    client, name: table, partial: true,
    schema: {
      format: 'onetable:1.1.0', version: '0.0.1', params: { timestamps: true },
      indexes: { primary: { hash: 'pk', sort: 'sk' }, gsi1: { hash: 'gsi1pk', sort: 'gsi1sk', project: 'all' } },
      models: {
        Customer: {
          pk: { type: String, value: 'customer#${customerId}' }, sk: { type: String, value: 'profile' },
          customerId: { type: String, required: true }, email: { type: String, unique: true },
        },
        Order: {
          pk: { type: String, value: 'customer#${customerId}' }, sk: { type: String, value: 'order#${orderId}' },
          gsi1pk: { type: String, value: 'status#${status}' }, gsi1sk: { type: String, value: '${placed}#${total}' },
          customerId: { type: String, required: true }, orderId: { type: String, required: true },
          status: { type: String }, total: { type: Number }, placed: { type: String },
          sent: { type: Date }, tags: { type: Set }, address: { type: Object, schema: { street: { type: String } } },
          photo: { type: Buffer }, note: { type: String, nulls: true },
        },
      },
    },
  });
  const Order = shop.getModel('Order'), Customer = shop.getModel('Customer');
  return {
    create: (v) => Order.create(v),
    put: (v) => Order.create(v, { exists: null }),
    upsert: (v) => Order.upsert(v),
    update: (key, v) => Order.update({ ...key, ...v }),
    'update.set': (key, set) => Order.update(key, { set }),
    get: (key) => Order.get(key, { hidden: false }),
    remove: (key) => Order.remove(key),
    list: (customerId) => Order.find({ customerId }),
    byStatus: (status) => Order.find({ status }, { index: 'gsi1' }),
    page: async (customerId, next) => {
      const data = await Order.find({ customerId }, { limit: 1, next });
      return { data, cursor: data.next };
    },
    limited: (customerId, above) => Order.find({ customerId }, { where: `\${total} > {${above}}`, limit: 1 }),
    createCustomer: (v) => Customer.create(v),
    updateCustomer: (key, v) => Customer.update({ ...key, ...v }),
    'updateCustomer.set': (key, set) => Customer.update(key, { set }),
    getCustomer: (key) => Customer.get(key),
    removeCustomer: (key) => Customer.remove(key),
    account: async (customerId) => {
      const found = shop.groupByType(await shop.queryItems({ pk: `customer#${customerId}` }, { parse: true, hidden: true }));
      return `${found.Customer.length} customer and ${found.Order.length} order`;
    },
  };
};
