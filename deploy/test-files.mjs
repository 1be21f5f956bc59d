/*
 * Runs compiled test files one after another in this process, each as one subtest, so that starting Node and loading
 * tap and the product is paid for once. Writes TAP to stdout. `deploy/test.mjs` starts it and sends the files one at a
 * time, as `{ file, limitMs }`; null ends it. A file that leaves something open, or does not end within its limit, fails
 * and is the last one of this process: what it left would disturb the next one.
 */
import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { killChildProcesses, openHandles, openResources, settled } from '../dist/fixtures/host/leaks.js'
import { TestFile } from './test-file.mjs'

/** Time (ms) in which the handles of a file that has ended close. A loaded host needs some of it. */
const LEFT_OPEN_MS = Number(process.env.PARLEY_TEST_LEFT_OPEN_MS ?? 20_000)

// tap follows every callback and promise with an async hook, to find the test that an uncaught error belongs to. The hook
// takes up to 40 % of the processor time of a file with many promises. Here such an error fails the test that runs.
asyncHooks.createHook = () => ({ enable() {}, disable() {} })
syncBuiltinESMExports()
const { default: t } = await import('tap')
process.on('uncaughtException', (thrown) => {
  let running = t
  for (let test = t; test !== undefined; test = [...test.activeSubtests].at(-1)) running = test
  // Also after the last test, when tap only prints the error.
  process.exitCode = 1
  running.threw(thrown instanceof Error ? thrown : new Error(`thrown: ${thrown}`))
})
// Test files know the one root test only. While a file runs, what they ask of the root is asked of the file's subtest: its
// tests run `t.jobs` at once, and its teardown runs before the next file begins.
let file = null
for (const name of ['test', 'teardown', 'setTimeout']) {
  const method = t[name].bind(t)
  Object.defineProperty(t, name, {
    value: (...args) => (file === null ? method(...args) : file[name](...args)),
  })
}
let jobs = t.jobs
Object.defineProperty(t, 'jobs', {
  get: () => jobs,
  set(count) {
    if (file === null) jobs = count
    else file.jobs = count
  },
})
let clean = true
for (let next = await nextFile(); next !== null; next = clean ? await nextFile() : null) {
  clean = await runFile(next)
}
process.disconnect()
if (!clean) {
  killChildProcesses()
  t.end()
  process.exit(1)
}
// Without open handles the process ends now. This timer does not keep it, it bounds it.
setTimeout(() => {
  process.stderr.write(
    `The process does not end. Open: ${[...openResources().keys(), ...openHandles()].join(', ')}\n`,
  )
  killChildProcesses()
  process.exit(1)
}, LEFT_OPEN_MS).unref()

/** Runs a file as one subtest. Returns false when its process is not to run another one. */
async function runFile({ file: path, limitMs }) {
  const before = openResources()
  let ended = false
  await t.test(path, { timeout: limitMs }, async (subtest) => {
    file = new TestFile(subtest)
    try {
      await import(pathToFileURL(resolve(path)).href)
    } finally {
      await file.end()
      const left = await settled(before, LEFT_OPEN_MS)
      if (left.length > 0) {
        subtest.fail(`left open after the tests of the file: ${left.join(', ')}`, { handles: openHandles() })
      } else ended = true
    }
  })
  if (!ended) await file.tearDown()
  file = null
  return ended
}

/** Asks for the next file. Nothing else keeps the process alive meanwhile. */
async function nextFile() {
  process.channel.ref()
  const answer = new Promise((resolve) => process.once('message', resolve))
  process.send('next')
  const next = await answer
  process.channel.unref()
  return next
}
