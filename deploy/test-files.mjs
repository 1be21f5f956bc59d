/*
 * Runs compiled test files one after another in this process, each as one subtest, so that starting Node and loading
 * tap and the product is paid for once. Writes TAP to stdout. `deploy/test.mjs` starts it and sends the files one at a
 * time, as `{ file, limitMs }`; null ends it.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const { default: t } = await import('tap')
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
for (let next = await nextFile(); next !== null; next = await nextFile()) {
  await t.test(next.file, { timeout: next.limitMs }, async (subtest) => {
    file = subtest
    await import(pathToFileURL(resolve(next.file)).href)
  })
  file = null
}
process.disconnect()

/** Asks for the next file. Nothing else keeps the process alive meanwhile. */
async function nextFile() {
  process.channel.ref()
  const answer = new Promise((resolve) => process.once('message', resolve))
  process.send('next')
  const next = await answer
  process.channel.unref()
  return next
}
