/*
 * Debian packages that some tests drive: sipp and baresip (independent SIP stacks; baresip has TLS),
 * ffmpeg (independent codecs), tshark (an independent reader of RTCP), python3-websockets (the example
 * bot), python3-swift (an object store with the S3 API), chromium (the dashboard), coturn (a TURN relay), Kamailio (a proxy and registrar in front of the service) and PostgreSQL (the second database every store must run on). Tests that need a missing one say so and skip.
 *
 *   node deploy/debian-packages.mjs
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NEEDED = [
  { name: 'sip-tester', present: () => onPath('sipp') },
  { name: 'baresip-core', present: () => onPath('baresip') },
  { name: 'ffmpeg', present: () => onPath('ffmpeg') },
  { name: 'tshark', present: () => onPath('tshark') },
  { name: 'python3-websockets', present: () => existsSync('/usr/lib/python3/dist-packages/websockets') },
  { name: 'python3-swift', present: () => existsSync('/usr/lib/python3/dist-packages/swift') },
  { name: 'chromium', present: () => onPath('chromium') },
  { name: 'coturn', present: () => onPath('turnserver') },
  { name: 'kamailio', present: () => onPath('kamailio') || existsSync('/usr/sbin/kamailio') },
  { name: 'kamailio-tls-modules', present: () => hasKamailioTls() },
  { name: 'postgresql', present: () => onPath('initdb') || debianPostgres() },
]

/** Installs what is missing when this user may; otherwise says the command. Never throws. */
export function installDebianPackages(say) {
  const missing = NEEDED.filter((item) => !item.present()).map((item) => item.name)
  if (missing.length === 0) return
  const command = ['apt-get', 'install', '-y', '--no-install-recommends']
  const install = [...command, ...missing]
  const rights = mayInstall()
  if (rights !== null) {
    say(`Installing ${missing.join(' and ')} for the tests ...`)
    const run = ([program, ...args]) =>
      spawnSync(program, args, {
        stdio: ['ignore', 2, 2],
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      }).status === 0
    if (run([...rights, ...install])) return
    // The package lists of a fresh machine are empty or old.
    if (run([...rights, 'apt-get', 'update']) && run([...rights, ...install])) return
    // One package that cannot be had must not take the others along.
    for (const name of missing) run([...rights, ...command, name])
  }
  const still = NEEDED.filter((item) => !item.present()).map((item) => item.name)
  if (still.length === 0) return
  say(`Some tests will be skipped: they need ${still.join(' and ')}. To install (as root):`)
  say(`  ${[...command, ...still].join(' ')}`)
}

/** The command prefix that gives root without asking, or null. */
function mayInstall() {
  if (!onPath('apt-get')) return null
  if (process.getuid?.() === 0) return []
  const sudo = onPath('sudo') && spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0
  return sudo ? ['sudo', '-n', 'env', 'DEBIAN_FRONTEND=noninteractive'] : null
}

function hasKamailioTls() {
  const libraries = existsSync('/usr/lib') ? readdirSync('/usr/lib') : []
  return libraries.some((triplet) => existsSync(join('/usr/lib', triplet, 'kamailio', 'modules', 'tls.so')))
}

function onPath(program) {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .some((folder) => folder !== '' && existsSync(join(folder, program)))
}

function debianPostgres() {
  const base = '/usr/lib/postgresql'
  return (
    existsSync(base) && readdirSync(base).some((version) => existsSync(join(base, version, 'bin', 'initdb')))
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  installDebianPackages((text) => process.stderr.write(`${text}\n`))
}
