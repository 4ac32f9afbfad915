'use strict';
const { EventStore, EventType } = require('@castore/core');
const { DynamoDBSingleTableEventStorageAdapter } = require('@castore/event-storage-adapter-dynamodb');

module.exports = ({ client, table }) => {
  const store = new EventStore({
    eventStoreId: 'ORDERS', eventTypes: [new EventType({ type: 'PLACED' }), new EventType({ type: 'PAID' })],
    reducer: (before, { type, payload }) => ({ ...before, ...payload, last: type }),
    eventStorageAdapter: new DynamoDBSingleTableEventStorageAdapter({ dynamoDBClient: client, tableName: table }),
  });
  return {
    push: (event) => store.pushEvent(event),
    force: (event) => store.pushEvent(event, { force: true }),
    events: async (id, options) => (await store.getEvents(id, options)).events,
    aggregate: async (id) => (await store.getAggregate(id)).aggregate,
    ids: (options) => store.listAggregateIds(options),
  };
};
