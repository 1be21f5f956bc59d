import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { getPriority, setPriority } from 'node:os'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { raiseThreadPriority, threadPriority } from './thread-priority.js'

const MODULE = new URL('./thread-priority.js', import.meta.url).href

/** Code of a thread that reports its priority, and of a child thread that resets its own. */
const THREAD = `
const { parentPort, Worker, workerData } = require('node:worker_threads')
import(workerData.module).then(async ({ threadPriority, resetThreadPriority, raiseThreadPriority }) => {
  const said = workerData.child
    ? { inherited: threadPriority(), usual: (resetThreadPriority(), threadPriority()) }
    : { before: threadPriority(), first: raiseThreadPriority(), after: threadPriority() }
  if (workerData.child) return parentPort.postMessage(said)
  const child = new Worker(workerData.code, { eval: true, workerData: { ...workerData, child: true } })
  child.once('message', (of) => parentPort.postMessage({ ...said, ...of }))
})
`

/** Returns whether this process may raise its priority. */
function allowed(): boolean {
  const usual = threadPriority()
  if (usual === null || usual < -9) return false
  const may = raiseThreadPriority()
  setPriority(process.pid, usual)
  return may
}

const skip = !allowed() && 'priorities of threads are not to be had here: not Linux, or not root'

t.test('a thread raises its own priority; threads it starts can reset theirs', { skip }, async (t) => {
  const usual = threadPriority() ?? 0
  const worker = new Worker(THREAD, {
    eval: true,
    workerData: { module: MODULE, code: THREAD, child: false },
  })
  const [said] = await once(worker, 'message')
  t.same(said, { before: usual, first: true, after: usual - 10, inherited: usual - 10, usual })
  t.equal(threadPriority(), usual, 'the main thread is as it was')
  await worker.terminate()
})

t.test('priorities are relative to that of the process', { skip }, async (t) => {
  const before = threadPriority() ?? 0
  t.teardown(() => setPriority(process.pid, before))
  setPriority(process.pid, before + 3)
  t.equal(raiseThreadPriority(), true)
  t.equal(threadPriority(), before + 3 - 10)
})

/** Code of a process that lowers its priority and prints that of each of its threads. */
const PROCESS = `
import { readdirSync } from 'node:fs'
import { getPriority } from 'node:os'
const { lowerProcessPriority } = await import(process.argv[1])
lowerProcessPriority(12)
console.log(JSON.stringify(readdirSync('/proc/self/task').map((id) => getPriority(Number(id)))))
`

t.test(
  'a process lowers the priority of all its threads',
  { skip: process.platform !== 'linux' },
  async (t) => {
    t.ok(getPriority() < 12, 'this process is above it')
    const program = ['--input-type=module', '--eval', PROCESS, MODULE]
    const { stdout } = await promisify(execFile)(process.execPath, program)
    const priorities: readonly number[] = JSON.parse(stdout)
    t.ok(priorities.length > 1, `${priorities.length} threads`)
    t.same(new Set(priorities), new Set([12]))
  },
)
