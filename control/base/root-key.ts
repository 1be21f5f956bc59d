import { hkdfSync, randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EngineError } from '../../media/base/errors.js'

/** What a derived key is for. One purpose, one key. */
export type KeyPurpose =
  | 'api-key-hash'
  | 'idempotency-encryption'
  | 'cursor-signing'
  | 'media-url-signing'
  | 'evidence-signing'
  | 'evidence-e164'
  | 'permit'
  | 'webhook-secrets'
  | 'secret-encryption'
  | 'verification-encryption'
  | 'session-hash'
  | 'session-csrf'
  | 'mail-token-hash'
  | 'throttle'
  | 'trunk-secrets'

/** The one secret everything else is derived from; whoever has it can read all that is encrypted. */
export interface RootKey {
  /** 32 bytes, the same for the same purpose and context always. */
  subkey(purpose: KeyPurpose, context?: string): Buffer
  /** Earlier root keys: what they encrypted can still be read. Nothing new is made with them. */
  readonly previous: readonly RootKey[]
}

const FILE = 'root.key'
const FORMAT = /^[0-9a-f]{64}$/i

/** From 32 bytes. */
export function rootKeyOf(secret: Uint8Array, previous: readonly RootKey[] = []): RootKey {
  if (secret.length !== 32) throw new EngineError('config_invalid', 'a root key has 32 bytes')
  const key = Buffer.from(secret)
  const made = new Map<string, Buffer>()
  return {
    previous,
    subkey(purpose, context = '') {
      const info = `parley/1/${purpose}/${context}`
      // Contexts name organizations: only the few purposes without one are remembered.
      const known = made.get(info)
      if (known !== undefined) return known
      const derived = Buffer.from(hkdfSync('sha256', key, '', info, 32))
      if (context === '') made.set(info, derived)
      return derived
    },
  }
}

/**
 * The root key: `configured` (variable PARLEY_ROOT_KEY) or else the file `root.key` of the data
 * folder, made on first use and readable by its owner only. Either holds 64 hex digits, and after
 * them, behind a comma or a line end, those of earlier root keys.
 */
export function openRootKey(configured: string | null, dataFolder: string): RootKey {
  if (configured !== null) return parse(configured, 'PARLEY_ROOT_KEY')
  const path = join(dataFolder, FILE)
  return parse(read(path) ?? create(dataFolder, path), path)
}

/**
 * Puts a new key into the file `root.key`, before those it holds, and returns it. Throws EngineError
 * `config_invalid` when there is no file.
 */
export function addRootKey(dataFolder: string): RootKey {
  const path = join(dataFolder, FILE)
  const stored = read(path)
  if (stored === null) throw new EngineError('config_invalid', `${path} does not exist`)
  parse(stored, path)
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  writeFileSync(temporary, `${randomBytes(32).toString('hex')}\n${stored}`, { mode: 0o600, flush: true })
  renameSync(temporary, path)
  return openRootKey(null, dataFolder)
}

function parse(text: string, where: string): RootKey {
  const [current, ...earlier] = text
    .trim()
    .split(/[\s,]+/)
    .map((key) => {
      if (FORMAT.test(key)) return Buffer.from(key, 'hex')
      const fix = 'must hold 64 hexadecimal digits (openssl rand -hex 32)'
      throw new EngineError('config_invalid', `${where} ${fix}`)
    })
  // Splitting gives one part at least.
  return rootKeyOf(
    current ?? Buffer.alloc(0),
    earlier.map((key) => rootKeyOf(key)),
  )
}

function read(path: string): string | null {
  try {
    const mode = statSync(path).mode & 0o077
    if (mode !== 0) {
      throw new EngineError('config_invalid', `${path} is readable by others; run: chmod 600 ${path}`)
    }
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

function create(folder: string, path: string): string {
  mkdirSync(folder, { recursive: true })
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  writeFileSync(temporary, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flush: true })
  try {
    // A link fails when the file exists: of two processes starting at once both use the first's key.
    linkSync(temporary, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    unlinkSync(temporary)
  }
  return readFileSync(path, 'utf8')
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
