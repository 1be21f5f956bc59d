/*
 * Every check, in the order in which a failure is cheapest to find: types (the build), format and
 * lint, then the tests. The last line is `N passed, N failed`: assertions of the tests, and one
 * for a check before them that failed.
 *
 *   node deploy/test.mjs [--long] [path of a compiled test ...]
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { failuresOf } from './failures.mjs'
import { root, SetUpError, say, setUp, tap } from './setup.mjs'

const long = process.argv.includes('--long')
const only = process.argv.slice(2).filter((arg) => !arg.startsWith('--'))
const require = createRequire(join(root, 'package.json'))

try {
  setUp({ test: true })
} catch (error) {
  if (!(error instanceof SetUpError)) throw error
  say(error.message)
  finish(0, 1)
}

let failedChecks = 0
if (!long && only.length === 0) {
  say('Checking format and lint ...')
  const biome = require.resolve('@biomejs/biome/bin/biome')
  const colours = process.stderr.isTTY ? [] : ['--colors=off']
  const { status } = spawnSync(process.execPath, [biome, 'ci', '--error-on-warnings', ...colours, '.'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0) failedChecks++
}

say(long ? 'Running the long tests ...' : 'Running the tests ...')
const output = join(root, '.tap', long ? 'long.tap' : 'test.tap')
mkdirSync(join(root, '.tap'), { recursive: true })
rmSync(output, { force: true })
// A terminal sees it count; a log gets the failures.
const reporter = process.stdout.isTTY ? ['--reporter=terse'] : ['--reporter=min', '--no-color']
// Calls are real time: two files at once on two cores, one long soak at a time.
const scope = long
  ? ['--include=dist/**/*.long.test.js', '--exclude=**/node_modules/**', '--jobs=1', '--timeout=1200']
  : ['--jobs=2', '--timeout=300']
const args = ['run', ...scope, ...reporter, `--output-file=${output}`, '--allow-empty-coverage', ...only]
const { status } = spawnSync(process.execPath, [tap(), ...args], { cwd: root, stdio: ['ignore', 1, 2] })
const text = readTap(output)
const { passed, failed, seen } = totals(text)
for (const failure of failuresOf(text).slice(0, 50)) say(`Failed: ${failure}`)
if (!seen) say(`tap reported no result (exit status ${status})`)
// A run that failed without a failed assertion (no test found, tap itself broke) is a failure too.
finish(passed, failed + failedChecks + (status !== 0 && failed === 0 ? 1 : 0))

function readTap(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return ''
  }
}

/** Totals of the raw TAP: its last top-level `# { total: .. }` comment. */
function totals(text) {
  const summary = [...text.matchAll(/^# \{ (total: .*) \}$/gm)].at(-1)?.[1] ?? ''
  const count = (name) => Number(summary.match(new RegExp(`\\b${name}: (\\d+)`))?.[1] ?? 0)
  return { passed: count('pass'), failed: count('fail'), seen: summary !== '' }
}

function finish(passed, failed) {
  // A line of its own: tap leaves a cursor sequence without a line end behind, also in a log.
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
  process.exit(failed === 0 ? 0 : 1)
}
