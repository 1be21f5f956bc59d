import Sqlite from 'better-sqlite3'
import t from 'tap'
import { connectionLost } from './postgres-client.js'
import { isTransient, ofDriver } from './transient-error.js'

t.test('errors that may pass, of both databases', async (t) => {
  const sqlite = (code: string) => new Sqlite.SqliteError('some text', code)
  const postgres = (code: string, severity = 'ERROR') =>
    Object.assign(new Error('some text'), { code, severity })
  const passes = (error: unknown) => isTransient(ofDriver(error))
  const pass = [
    ...[
      'SQLITE_BUSY',
      'SQLITE_BUSY_SNAPSHOT',
      'SQLITE_FULL',
      'SQLITE_IOERR_WRITE',
      'SQLITE_READONLY_DBMOVED',
    ],
    ...['SQLITE_CANTOPEN', 'SQLITE_LOCKED_SHAREDCACHE', 'SQLITE_NOMEM'],
  ]
  for (const code of pass) t.ok(passes(sqlite(code)), code)
  for (const code of ['40001', '40P01', '08006', '53300', '57014', '57P01', '25006', '58030'])
    t.ok(passes(postgres(code)), code)
  // The server closes the connection after such an error, whatever it was.
  t.ok(passes(postgres('XX000', 'FATAL')))
  // Whatever the driver says of a connection that broke, also for a name that does not resolve.
  for (const code of ['ECONNRESET', 'EAI_AGAIN', 'ENETUNREACH', ''])
    t.ok(isTransient(connectionLost(Object.assign(new Error('Client is not queryable'), { code }))), code)
  for (const code of ['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_ERROR', 'SQLITE_CORRUPT'])
    t.notOk(passes(sqlite(code)), code)
  for (const code of ['23505', '42P01', '22P02']) t.notOk(passes(postgres(code)), code)
  // Sockets of others fail with the same codes.
  t.notOk(passes(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })))
  t.notOk(passes(new Error('Connection terminated unexpectedly')))
  t.notOk(passes('ECONNREFUSED'))
})
