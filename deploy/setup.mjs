/*
 * Makes a fresh clone ready to run: packages, then `dist/`. Plain Node, so that it works before
 * anything is installed. Each step is skipped when its result is already there.
 *
 *   node deploy/setup.mjs [--test]     --test: also what only the tests need
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installDebianPackages } from './debian-packages.mjs'

export const root = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(join(root, 'package.json'))
const SOURCES = ['media', 'workers', 'signalling', 'control', 'fixtures', 'bench', 'clients', 'examples']
const OLDEST_NODE = [20, 19]

/** Packages that `.npmrc` keeps from compiling on installation, and what shows that they work. */
const NATIVE = [
  {
    name: 'better-sqlite3',
    program: "new (require('better-sqlite3'))(':memory:').close()",
    needs:
      'It comes compiled for common systems; elsewhere it is compiled and needs python3, make and a C++ compiler',
  },
  {
    name: '@discordjs/opus',
    program: "new (require('@discordjs/opus').OpusEncoder)(16000, 1).encode(Buffer.alloc(640))",
    needs:
      'It comes compiled for common systems; elsewhere it is compiled and needs python3, make and a C++ compiler',
  },
]

const REBUILD = ['rebuild', '--ignore-scripts=false']

/** A step that failed; the message is for the person at the terminal. */
export class SetUpError extends Error {}

/** Runs every step that is still to be done. Throws SetUpError with what to do about it. */
export function setUp(options = { test: false }) {
  checkNode()
  installPackages()
  build()
  buildDashboard()
  if (options.test) {
    prepareTap()
    installDebianPackages(say)
  }
}

/** Progress, on stderr: stdout belongs to the program that is being set up. */
export function say(text) {
  process.stderr.write(`${text}\n`)
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST_NODE
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throw new SetUpError(
      `Node ${process.versions.node} is too old: Parley needs ${OLDEST_NODE.join('.')} or newer (https://nodejs.org).`,
    )
  }
}

// ---- packages

function installPackages() {
  if (!packagesMatchLock()) {
    step('Installing packages', 'npm', ['ci', '--no-audit', '--no-fund'])
  }
  // `npm ci` runs no scripts. A Node of another major version cannot load what an earlier one compiled.
  for (const { name, program, needs } of NATIVE) {
    if (nativeLoads(name, program)) continue
    step(`Preparing ${name} for this Node (about a minute)`, 'npm', REBUILD.concat(name))
    if (!nativeLoads(name, program)) {
      throw new SetUpError(
        `${name} does not load. ${needs}\n(Debian: apt-get install python3 make g++). Then: npm ${REBUILD.join(' ')} ${name}`,
      )
    }
  }
}

/** Tells whether npm's own record of the installed packages matches package-lock.json. */
function packagesMatchLock() {
  const record = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(record)) return false
  const installed = readJson(record).packages
  for (const [path, wanted] of Object.entries(readJson(join(root, 'package-lock.json')).packages)) {
    if (path === '') continue
    const found = installed[path]
    if (found === undefined) {
      // Packages for other systems are left out.
      if (wanted.optional === true || wanted.devOptional === true) continue
      return false
    }
    if (found.version !== wanted.version || found.integrity !== wanted.integrity) return false
  }
  return true
}

function nativeLoads(name, program) {
  const stamp = join(root, 'node_modules', `.parley-native-${name.replaceAll('/', '-')}`)
  const state = `${process.version} ${process.arch} ${readJson(require.resolve(`${name}/package.json`)).version}`
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === state) return true
  // In a process of its own: a failed load cannot be retried in this one.
  if (spawnSync(process.execPath, ['-e', program], { cwd: root, stdio: 'ignore' }).status !== 0) return false
  writeFileSync(stamp, state)
  return true
}

// ---- dist

/**
 * Compiles what changed since `dist/` was made, and removes what lost its source. A build with errors leaves `dist/` as
 * it was.
 */
export function build() {
  const wanted = sourcesHash()
  const dist = join(root, 'dist')
  const stamp = join(dist, '.sources')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  const info = join(dist, '.tsbuildinfo')
  const options = ['--incremental', '--tsBuildInfoFile', info, '--noEmitOnError']
  step('Building', process.execPath, [typescript(), '-p', '.', ...options])
  walk(dist, (path) => {
    const [, source] = /^(.*)\.js(\.map)?$/.exec(relative(dist, path)) ?? []
    if (source !== undefined && !existsSync(join(root, `${source}.ts`))) rmSync(path)
  })
  writeFileSync(stamp, wanted)
}

/** Builds the dashboard when one of its sources changed. A failed build leaves the previous one as it was. */
export function buildDashboard() {
  const out = join(root, '.build', 'dashboard')
  const stamp = join(out, '.sources')
  const wanted = hashOf((add) => {
    for (const folder of ['control/dashboard', 'clients/typescript']) walk(join(root, folder), add)
    add(join(root, 'package-lock.json'))
  })
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  const fresh = `${out}.${process.pid}`
  try {
    step('Checking the types of the dashboard', process.execPath, [typescript(), '-p', 'control/dashboard'])
    const vite = join(require.resolve('vite/package.json'), '..', 'bin', 'vite.js')
    const args = [vite, 'build', 'control/dashboard', '--logLevel', 'warn', '--outDir', fresh]
    step('Building the dashboard', process.execPath, args)
    writeFileSync(join(fresh, '.sources'), wanted)
    rmSync(out, { recursive: true, force: true })
    renameSync(fresh, out)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function typescript() {
  const manifest = require.resolve('typescript/package.json')
  return join(manifest, '..', readJson(manifest).bin.tsc)
}

function sourcesHash() {
  return hashOf((add) => {
    add(join(root, 'tsconfig.json'))
    add(require.resolve('typescript/package.json'))
    for (const folder of SOURCES) {
      if (existsSync(join(root, folder)))
        walk(join(root, folder), (path) => path.endsWith('.ts') && add(path))
    }
  })
}

function hashOf(addAll) {
  const hash = createHash('sha256')
  addAll((path) =>
    hash
      .update(`${relative(root, path)}\0`)
      .update(readFileSync(path))
      .update('\0'),
  )
  return hash.digest('hex')
}

function walk(folder, visit) {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) walk(path, visit)
    else visit(path)
  }
}

// ---- tests

/** tap is assembled from its plugins once per installation; without it every test file fails. */
function prepareTap() {
  // Beside what `tap build` makes, so that a new installation of the packages takes the stamp along.
  const built = join(root, 'node_modules', '@tapjs', 'test', 'test-built')
  const stamp = join(built, '.parley')
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, '.taprc')))
    .update(readJson(require.resolve('tap/package.json')).version)
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  step('Preparing the test runner', process.execPath, [tap(), 'build'])
  writeFileSync(stamp, wanted)
}

/** Path of tap's command. */
export function tap() {
  const manifest = require.resolve('tap/package.json')
  return join(manifest, '..', readJson(manifest).bin.tap)
}

// ---- helpers

function step(title, command, args) {
  const startedAt = Date.now()
  say(`${title} ...`)
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) {
    const why = error === undefined ? `exit status ${status}` : error.message
    throw new SetUpError(`${title} failed (${why}): ${[command, ...args].join(' ')}`)
  }
  say(`${title}: done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`)
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    setUp({ test: process.argv.includes('--test') })
    say('Ready.')
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error
    say(error.message)
    process.exitCode = 1
  }
}
