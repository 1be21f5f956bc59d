/*
 * The entry file of the thread that reads a SQLite database for searches, one statement at a time. An
 * uncaught error ends the thread: the statement fails, and the next one starts another thread.
 */
import { parentPort, workerData } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import { errorText } from '../../media/base/errors.js'
import type { ReaderAnswer, ReaderStatement } from './reader-messages.js'
import { isTransient, ofDriver } from './transient-error.js'

if (parentPort === null) throw new Error('reader-thread.js runs in a worker thread only')
const port = parentPort
const database = new Sqlite(String(workerData.file), { readonly: true, timeout: 5000 })

port.on('message', ({ sql, parameters }: ReaderStatement) => {
  let answer: ReaderAnswer
  try {
    answer = { rows: database.prepare(sql).all(...parameters) }
  } catch (error) {
    answer = { error: errorText(error), transient: isTransient(ofDriver(error)) }
  }
  port.postMessage(answer)
})
