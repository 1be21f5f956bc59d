import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { systemClock } from './clock.js'
import { EngineError, errorText } from './errors.js'
import { projectRoot } from './project-root.js'

t.test('the system clock: monotonic with fractions, the same origin in every thread', async (t) => {
  const url = new URL('./clock.js', import.meta.url).href
  const before = systemClock.now()
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     import(${JSON.stringify(url)}).then(({ systemClock }) => parentPort.postMessage(systemClock.now()))`,
    { eval: true },
  )
  const there = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  const after = systemClock.now()
  await worker.terminate()
  t.ok(there > before && there < after, `${before} < ${there} < ${after}`)
  const earliest = Date.now()
  const wall = systemClock.wall()
  t.ok(wall >= earliest && wall <= Date.now())
  t.ok(Number.isInteger(systemClock.wall()))
})

t.test('a timer of the system clock fires, or is cancelled', async (t) => {
  let cancelled = false
  const timer = systemClock.after(1, () => {
    cancelled = true
  })
  timer.cancel()
  timer.cancel()
  const start = systemClock.now()
  await new Promise<void>((resolve) => systemClock.after(15, resolve))
  t.ok(systemClock.now() - start >= 14)
  t.equal(cancelled, false)
})

t.test('after a late timer sockets are read first, and timers stay in order', async (t) => {
  const [here, there] = [createSocket('udp4'), createSocket('udp4')]
  t.teardown(() => {
    here.close()
    there.close()
  })
  here.bind(0, '127.0.0.1')
  await once(here, 'listening')
  there.connect(here.address().port, '127.0.0.1')
  await once(there, 'connect')
  const order: string[] = []
  here.on('message', () => order.push('datagram'))
  const over = new Promise<void>((resolve) => {
    systemClock.after(20, () => order.push('late'))
    const cancelled = systemClock.after(25, () => order.push('cancelled'))
    systemClock.after(22, () => cancelled.cancel())
    // In time, or nearly, but behind a late one.
    systemClock.after(58, () => order.push('next'))
    systemClock.after(65, resolve)
  })
  // The thread stalls between sockets and timers.
  setImmediate(() => {
    there.send('it comes before the timers are due')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60)
  })
  await over
  t.strictSame(order, ['datagram', 'late', 'next'])
})

t.test('errors carry their code, cause and context', (t) => {
  const cause = new Error('low')
  const error = new EngineError('timeout', 'too slow', { retryable: true, cause, context: { ms: 5 } })
  t.match(error, { name: 'EngineError', code: 'timeout', retryable: true, context: { ms: 5 } })
  t.equal(error.cause, cause)
  const plain = new EngineError('closed', 'gone')
  t.match(plain, { retryable: false, context: {} })
  t.equal(Object.hasOwn(plain, 'cause'), false)
  t.equal(errorText(error), 'too slow')
  t.equal(errorText('words'), 'words')
  t.end()
})

t.test('the project root holds package.json', (t) => {
  t.ok(existsSync(join(projectRoot, 'package.json')))
  t.end()
})
