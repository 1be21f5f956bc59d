/*
 * A folder with Asterisk in it, for the bench that runs beside it (CPU_ratio) and the long tests: Debian's `sid`, of which
 * nothing but Asterisk and what it needs, about 500 MB. This system stays as it is.
 *
 *   node deploy/asterisk-root.mjs [folder]     .build/asterisk without one; as root, with debootstrap
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { root, say } from './setup.mjs'

/** Debian 12 has no Asterisk, and what is older than 22.6 bridges no call to a WebSocket. */
const SUITE = 'sid'
const PACKAGE = 'asterisk'

const folder = resolve(process.argv[2] ?? join(root, '.build', 'asterisk'))
process.exitCode = make(folder)

function make(folder) {
  if (existsSync(join(folder, 'usr', 'sbin', 'asterisk'))) {
    say(`Asterisk is in ${folder}.`)
    return 0
  }
  // A name of its own until it is complete: what a run that was cut short leaves is not taken for it. That
  // may have this system's /proc mounted in it, so a person is to look before it is removed.
  const partial = `${folder}.partial`
  for (const path of [folder, partial]) {
    if (!existsSync(path)) continue
    say(`Something else is in ${path}: unmount what is mounted below it and remove it first.`)
    return 1
  }
  const mirror = debianMirror()
  const command = ['debootstrap', '--variant=minbase', `--include=${PACKAGE}`, SUITE]
  const wanting = [
    ...(process.getuid?.() === 0 ? [] : ['root']),
    ...(found('debootstrap') ? [] : ['debootstrap (apt-get install --no-install-recommends debootstrap)']),
    ...(mirror === null ? ['a Debian mirror in the sources of apt, after apt-get update'] : []),
  ]
  if (wanting.length > 0) {
    say(`This needs ${wanting.join(', and ')}. The command, as root:`)
    say(`  ${[...command, folder, mirror ?? 'MIRROR'].join(' ')}`)
    return 1
  }
  mkdirSync(dirname(folder), { recursive: true })
  say(`Installing ${PACKAGE} of Debian ${SUITE} to ${folder} (about two minutes) ...`)
  const { status } = spawnSync(command[0], [...command.slice(1), partial, mirror], {
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0) {
    say(`debootstrap failed; its log is in ${join(partial, 'debootstrap', 'debootstrap.log')}`)
    return 1
  }
  renameSync(partial, folder)
  say('Ready.')
  return 0
}

/** Returns the mirror from which this system takes Debian, the first of several; null elsewhere. */
function debianMirror() {
  const format = '$(ORIGIN)|$(LABEL)|$(REPO_URI)'
  const { stdout } = spawnSync('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'], {
    encoding: 'utf8',
  })
  const lines = (stdout ?? '').split('\n').map((line) => line.split('|'))
  return lines.find(([origin, label]) => origin === 'Debian' && label === 'Debian')?.[2] ?? null
}

function found(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' }).status === 0
}
