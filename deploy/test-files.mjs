/*
 * Runs compiled test files one after another in this process, each as one subtest, so that starting Node and loading
 * tap is paid for once. Writes TAP to stdout.
 *
 *   node deploy/test-files.mjs <compiled test file> ...
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

// tap names the temporary folders of tests after the arguments: a long list makes the names too long.
const files = process.argv.splice(2)
const { default: t } = await import('tap')
const test = t.test.bind(t)
// Test files call `t.test` of the one root test; while a file runs, its tests belong to the file.
let file = null
Object.defineProperty(t, 'test', { value: (...args) => (file === null ? test(...args) : file.test(...args)) })
for (const name of files) {
  await test(name, async (subtest) => {
    file = subtest
    await import(pathToFileURL(resolve(name)).href)
  })
  file = null
}
