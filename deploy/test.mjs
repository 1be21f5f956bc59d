/*
 * Every check, in the order in which a failure is cheapest to find: types (the build), format and lint, then the tests.
 * The last line is `N passed, N failed`: the tests, and one for each check that failed.
 */
import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, freemem } from 'node:os'
import { join, relative } from 'node:path'
import { root, SetUpError, say, setUp } from './setup.mjs'
import { SLOW_TESTS } from './slow-tests.mjs'
import { readReport } from './tap-report.mjs'

const HELP = `Usage: node deploy/test.mjs [--long] [--kind KIND] [compiled test file ...]

Runs format and lint checks and then the tests, in this order of kinds:
  pure     x.test.ts          virtual time; no socket, process, thread, timer or database
  db       x.db.test.ts       uses a database
  net      x.net.test.ts      uses sockets, child processes, worker threads or real time
  service  x.service.test.ts  starts the whole service
--long runs x.long.test.ts instead: tests that take minutes.
--kind runs one kind only. With file names, exactly those files run.
`
const KINDS = ['pure', 'db', 'net', 'service']
const CORES = availableParallelism()
/**
 * Files at once. Those of databases, sockets, processes and calls in real time wait for others about half the time, and what
 * they assert holds on a host that is late.
 */
const JOBS = { pure: CORES, db: CORES + 1, net: CORES + 2, service: CORES + 1, long: CORES + 2 }
/** Files that one process runs: loading tap and the product takes longer than most files. */
const FILES = { pure: 32, db: 16, net: 16, service: 16, long: 1 }
/** Most code of a test runs a few times: larger young generations and later optimisation save a fifth of the processor time. */
const LARGE_YOUNG_GENERATION = ['--min-semi-space-size=16', '--max-semi-space-size=64']
const RARELY_OPTIMISED = ['--interrupt-budget=1000000']
const V8_OPTIONS = {
  // Some of these tests count what optimised code allocates.
  pure: LARGE_YOUNG_GENERATION,
  db: [...LARGE_YOUNG_GENERATION, ...RARELY_OPTIMISED],
  // Calls in real time run as they do in the product.
  net: [],
  service: [...LARGE_YOUNG_GENERATION, ...RARELY_OPTIMISED],
  // Some of these tests measure memory.
  long: RARELY_OPTIMISED,
}
/** Folder of files in memory on Linux, and the least free memory for that. PostgreSQL makes a thousand files for each database. */
const MEMORY_FILES = '/dev/shm'
const MEMORY_FILES_BYTES = 8 * 2 ** 30
/** Longest time of one file. */
const LIMIT_S = { pure: 180, db: 300, net: 300, service: 600, long: 1200 }

const args = process.argv.slice(2)
if (args.includes('--help')) {
  process.stdout.write(HELP)
  process.exit(0)
}
const long = args.includes('--long')
const onlyKind = args.includes('--kind') ? args[args.indexOf('--kind') + 1] : null
const only = args.filter((arg) => arg.endsWith('.js'))
const require = createRequire(join(root, 'package.json'))
const records = join(root, '.tap')
const failures = []

try {
  setUp({ test: true })
} catch (error) {
  if (!(error instanceof SetUpError)) throw error
  say(error.message)
  finish(0, 1)
}
mkdirSync(records, { recursive: true })
if (!long && only.length === 0 && onlyKind === null) lint()

const files = only.length > 0 ? only.map((path) => relative(root, join(process.cwd(), path))) : testFiles()
const kinds = long ? ['long'] : [...KINDS, 'long']
keepFilesInMemory()
const database = files.some((file) => kindOf(file) !== 'pure') ? await startDatabase() : null
const totals = { passed: 0, failed: failures.length }
const times = new Map(Object.entries(readTimes()))
const ran = []
const walls = []
let tap = ''
for (const kind of kinds) {
  const own = files.filter((file) => kindOf(file) === kind)
  if (own.length === 0 || (onlyKind !== null && kind !== onlyKind)) continue
  say(`Running ${own.length} ${kind} test files ...`)
  const startedAt = Date.now()
  const used = processorMs()
  // Calls on virtual time use all the processor they get: never beside calls in real time.
  const virtual = own.filter((file) => kind === 'service' && isVirtual(file))
  await runAll(kind, virtual)
  await runAll(
    kind,
    own.filter((file) => !virtual.includes(file)),
  )
  const wall = `${kind.padEnd(8)} ${String(own.length).padStart(4)} files ${seconds(Date.now() - startedAt)}`
  walls.push(used === null ? wall : `${wall}, processor ${seconds(processorMs() - used)}`)
}
await database?.stop()
writeFileSync(join(records, long ? 'long.tap' : 'test.tap'), tap)
writeFileSync(join(records, 'times.json'), JSON.stringify(Object.fromEntries(times)))
if (failures.length > 0) say('\nFailed:')
for (const { path } of failures.slice(0, 50)) say(`  ${path}`)
say(`\nTime by kind:\n${walls.map((line) => `  ${line}`).join('\n')}`)
say('Slowest files:')
for (const { name, ms } of ran.toSorted((a, b) => b.ms - a.ms).slice(0, 10)) say(`  ${seconds(ms)} ${name}`)
if (ran.length === 0) totals.failed++
finish(totals.passed, totals.failed)

function lint() {
  say('Checking format and lint ...')
  const biome = require.resolve('@biomejs/biome/bin/biome')
  const colours = process.stderr.isTTY ? [] : ['--colors=off']
  const { status } = spawnSync(process.execPath, [biome, 'ci', '--error-on-warnings', ...colours, '.'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0) failures.push({ path: 'format and lint', detail: '' })
}

function testFiles() {
  return readdirSync(join(root, 'dist'), { recursive: true })
    .filter((path) => path.endsWith('.test.js'))
    .map((path) => join('dist', path))
    .filter((path) => (kindOf(path) === 'long') === long)
    .sort()
}

function kindOf(file) {
  return /\.(db|net|service|long)\.test\.js$/.exec(file)?.[1] ?? 'pure'
}

function isVirtual(file) {
  return readFileSync(join(root, file), 'utf8').includes('virtual: ')
}

/** Runs files of one kind, the ones that took longest the last time, or usually take longest, first. */
async function runAll(kind, own) {
  const queue = own.toSorted((a, b) => expectedMs(b) - expectedMs(a))
  const worker = async () => {
    while (queue.length > 0) await runProcess(kind, queue)
  }
  await Promise.all(Array.from({ length: JOBS[kind] }, worker))
}

function expectedMs(file) {
  const name = file.replace(/^dist\//, '').replace(/\.test\.js$/, '')
  return times.get(file) ?? (SLOW_TESTS[name] ?? 0) * 1000
}

/** Runs files from the front of the queue in one process and adds what it reports to the totals. */
async function runProcess(kind, queue) {
  const child = fork(join('deploy', 'test-files.mjs'), {
    cwd: root,
    execArgv: ['--enable-source-maps', ...V8_OPTIONS[kind]],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      ...process.env,
      TAP: '1',
      // Of the process; each file has a limit of its own.
      TAP_TIMEOUT: String(LIMIT_S[kind] * FILES[kind]),
      ...(database === null ? {} : database.env),
    },
  })
  const given = []
  let kill
  child.on('message', (message) => {
    // tap sends messages of its own.
    if (message !== 'next') return
    clearTimeout(kill)
    const file = given.length < FILES[kind] ? queue.shift() : undefined
    if (file !== undefined) given.push(file)
    kill = setTimeout(() => child.kill('SIGKILL'), (LIMIT_S[kind] + 20) * 1000)
    // An error means that it has died, which `close` reports.
    child.send(file === undefined ? null : { file, limitMs: LIMIT_S[kind] * 1000 }, () => {})
  })
  let text = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    errors = (errors + chunk).slice(-20_000)
  })
  const [code, signal] = await once(child, 'close')
  clearTimeout(kill)
  tap += text
  const report = readReport(text)
  for (const { name, ms } of report.files) times.set(name, ms)
  ran.push(...report.files)
  totals.passed += report.passed
  totals.failed += report.failed
  failures.push(...report.failures)
  for (const { path, detail } of report.failures) say(`Failed: ${path}\n${detail}`)
  const missing = given.filter((file) => !report.files.some(({ name }) => name === file))
  if (missing.length > 0 || (code !== 0 && report.failed === 0)) {
    // It died before it reported, or a handle kept it alive after its tests.
    totals.failed++
    const path = (missing.length > 0 ? missing : given).join(' ')
    failures.push({ path, detail: `exit status ${code ?? signal}` })
  }
  // It could not even start: neither could the next one.
  if (given.length === 0) queue.length = 0
  if (code !== 0) say(errors)
}

/** Starts one PostgreSQL for all files, with a migrated template database; null when it cannot start. */
async function startDatabase() {
  const server = fork(join(root, 'dist', 'fixtures', 'database', 'shared-databases.js'), [records], {
    execArgv: ['--enable-source-maps'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const env = await new Promise((resolve) => {
    server.once('message', resolve)
    server.once('exit', () => resolve(null))
  })
  if (env === null) {
    say('Test files start databases of their own: the shared ones could not be made.')
    return null
  }
  const stop = async () => {
    if (!server.connected) return
    server.disconnect()
    await once(server, 'exit')
  }
  return { env, stop }
}

/** Makes temporary files of all tests files in memory where there is room. They are removed when this process ends. */
function keepFilesInMemory() {
  if (!existsSync(MEMORY_FILES) || freemem() < MEMORY_FILES_BYTES) return
  const { bavail, bsize } = statfsSync(MEMORY_FILES)
  if (bavail * bsize < MEMORY_FILES_BYTES) return
  const folder = mkdtempSync(join(MEMORY_FILES, 'parley-tests-'))
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o711)
  process.env.TMPDIR = folder
  process.once('exit', () => {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    } catch (error) {
      // A process that outlived its test still writes there. The result of the tests stands.
      say(`${folder} was not removed: ${error.message}`)
    }
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
}

function readTimes() {
  const path = join(records, 'times.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
}

/** Processor time (ms) of the child processes that have ended, without the databases; null where Linux does not tell it. */
function processorMs() {
  if (!existsSync('/proc/self/stat')) return null
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ')
  // cutime and cstime of proc(5), in ticks of 10 ms.
  return 10 * (Number(fields[13]) + Number(fields[14]))
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`.padStart(9)
}

function finish(passed, failed) {
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
  process.exit(failed === 0 ? 0 : 1)
}
