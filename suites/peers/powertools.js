'use strict';
const { IdempotencyConfig, makeIdempotent } = require('@aws-lambda-powertools/idempotency');
const { DynamoDBPersistenceLayer } = require('@aws-lambda-powertools/idempotency/dynamodb');

module.exports = ({ client, table }) => {
  const persistenceStore = new DynamoDBPersistenceLayer({ tableName: table, awsSdkV3Client: client });
  let runs = 0;
  // pay returns what its caller asks for, so that the test chooses what is stored.
  const pay = makeIdempotent(async ({ result }) => { runs++; return result; }, {
    persistenceStore, keyPrefix: 'pay', config: new IdempotencyConfig({ eventKeyJmesPath: 'id' }),
  });
  return {
    pay: async (id, result) => ({ result: await pay({ id, result }), runs }),
    runs: async () => runs,
  };
};
