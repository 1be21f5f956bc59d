import { execFileSync, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from '../../media/base/project-root.js'
import { asteriskFiles } from './asterisk-config.js'

/*
 * Runs Asterisk from a folder with a newer Debian (made by deploy/asterisk-root.mjs) in a process of its own
 * on loopback. Its own loader and libraries are named, so that it runs on this system without root and
 * without changes to that folder.
 */

/** Default folder of deploy/asterisk-root.mjs; ASTERISK_ROOT names another one. */
const ROOT = process.env.ASTERISK_ROOT ?? join(projectRoot, '.build', 'asterisk')

export const HOW_TO_GET_ASTERISK =
  'needs Asterisk 22.6 or newer: node deploy/asterisk-root.mjs (as root), or ASTERISK_ROOT=<folder of such a Debian>'

const START_MS = 20_000
const STOP_MS = 5_000
/** Below the ephemeral ports. */
const RTP_PORTS = [16_000, 20_000] as const

export interface Installed {
  readonly version: string
  readonly command: string
  /** Arguments before Asterisk's own. */
  readonly args: readonly string[]
  readonly modulesFolder: string
  readonly dataFolder: string
}

export interface Asterisk {
  readonly pid: number
  readonly sipPort: number
  /** Idempotent. */
  close(): Promise<void>
}

/** Returns null if the folder has no Asterisk, or one that cannot bridge a call to a WebSocket. */
export function findAsterisk(root: string = ROOT): Installed | null {
  const libraries = join(root, 'usr', 'lib')
  const program = join(root, 'usr', 'sbin', 'asterisk')
  if (!existsSync(program)) return null
  for (const triplet of readdirSync(libraries)) {
    const folder = join(libraries, triplet)
    const modulesFolder = join(folder, 'asterisk', 'modules')
    if (!existsSync(join(modulesFolder, 'chan_websocket.so'))) continue
    const loader = readdirSync(folder).find((name) => /^ld-linux.*\.so\.\d+$/.test(name))
    if (loader === undefined) continue
    const command = join(folder, loader)
    const args = ['--library-path', folder, program]
    const version = execFileSync(command, [...args, '-V'], { encoding: 'utf8' }).trim()
    return { version, command, args, modulesFolder, dataFolder: join(root, 'usr', 'share', 'asterisk') }
  }
  return null
}

/** Starts Asterisk with its calls bridged to the bot. Rejects with its output if it does not start. */
export async function openAsterisk(installed: Installed, botPort: number): Promise<Asterisk> {
  const { command, args, modulesFolder, dataFolder } = installed
  const folder = await mkdtemp(join(tmpdir(), 'parley-asterisk-'))
  const sipPort = await freePort()
  const files = asteriskFiles({ modulesFolder, dataFolder, folder, sipPort, rtpPorts: RTP_PORTS, botPort })
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const child = spawn(command, [...args, '-f', '-C', join(folder, 'asterisk.conf')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let heard = (): void => {}
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-10_000)
      heard()
    })
  }
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve()) // it never started
  })
  let closing = false
  child.once('exit', () => {
    if (!closing) process.stderr.write(`Asterisk ended by itself:\n${output}\n`)
  })
  const close = async (): Promise<void> => {
    closing = true
    child.kill('SIGTERM')
    const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await ended
    clearTimeout(force)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string): void => reject(new Error(`Asterisk ${why}:\n${output}`))
      const deadline = setTimeout(() => fail(`was not ready within ${START_MS} ms`), START_MS)
      heard = () => {
        if (!output.includes('Asterisk Ready.')) return
        clearTimeout(deadline)
        resolve()
      }
      child.once('error', (error) => fail(`did not start (${error.message})`))
      child.once('exit', (code) => fail(`ended with ${code} before it was ready`))
    })
    if (child.pid === undefined) throw new Error('Asterisk has no process')
    return { pid: child.pid, sipPort, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function freePort(): Promise<number> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  const closed = once(socket, 'close')
  socket.close()
  await closed
  return port
}
