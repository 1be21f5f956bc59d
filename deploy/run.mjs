/*
 * Sets up, then runs one compiled program in this process:
 *
 *   node --enable-source-maps deploy/run.mjs control/cli/main.js start
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, SetUpError, say, setUp } from './setup.mjs'

const [program, ...args] = process.argv.slice(2)
if (program === undefined) {
  say('Usage: node deploy/run.mjs <compiled file below dist/> [arguments]')
  process.exit(2)
}
try {
  setUp()
} catch (error) {
  if (!(error instanceof SetUpError)) throw error
  say(error.message)
  process.exit(1)
}
const path = join(root, 'dist', program)
if (!existsSync(path)) {
  say(`No such program: ${path}`)
  process.exit(2)
}
process.argv = [process.argv[0], path, ...args]
await import(pathToFileURL(path).href)
