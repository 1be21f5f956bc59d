import { hkdfSync, randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EngineError } from '../../media/base/errors.js'

/** Purposes of derived keys. Each purpose has its own key. */
export type KeyPurpose =
  | 'api-key-hash'
  | 'idempotency-encryption'
  | 'cursor-signing'
  | 'address-signing'
  | 'evidence-signing'
  | 'evidence-e164'
  | 'suppression-digest'
  | 'permit'
  | 'webhook-secrets'
  | 'secret-encryption'
  | 'verification-encryption'
  | 'session-hash'
  | 'session-csrf'
  | 'mail-token-hash'
  | 'throttle'
  | 'sign-up-browser'
  | 'known-device'
  | 'trunk-secrets'
  | 'destination-codes'
  | 'factor-secrets'
  | 'recovery-codes'
  | 'key-check'

/** The secret from which all other keys are derived. It decrypts everything that is encrypted. */
export interface RootKey {
  /** Derives 32 bytes. The same purpose and context always give the same key. */
  subkey(purpose: KeyPurpose, context?: string): Buffer
  /** Earlier root keys. They decrypt old data and are never used for new data. */
  readonly previous: readonly RootKey[]
}

const FILE = 'root.key'
const FORMAT = /^[0-9a-f]{64}$/i

/** Makes a root key from 32 bytes. */
export function rootKeyOf(secret: Uint8Array, previous: readonly RootKey[] = []): RootKey {
  if (secret.length !== 32) throw new EngineError('config_invalid', 'a root key must have 32 bytes')
  const key = Buffer.from(secret)
  const made = new Map<string, Buffer>()
  return {
    previous,
    subkey(purpose, context = '') {
      const info = `parley/1/${purpose}/${context}`
      // Contexts name organizations, so only keys without a context are cached.
      const known = made.get(info)
      if (known !== undefined) return known
      const derived = Buffer.from(hkdfSync('sha256', key, '', info, 32))
      if (context === '') made.set(info, derived)
      return derived
    },
  }
}

/**
 * Returns the root key: `configured` (PARLEY_ROOT_KEY), or the file `root.key` of the data folder, which is
 * created on first use and readable by its owner only. Both hold 64 hex digits. Earlier root keys follow,
 * separated by commas or line ends.
 */
export function openRootKey(configured: string | null, dataFolder: string): RootKey {
  if (configured !== null) return parse(configured, 'PARLEY_ROOT_KEY')
  const path = join(dataFolder, FILE)
  return parse(read(path) ?? create(dataFolder, path), path)
}

/**
 * Puts a new key at the front of the file `root.key` and returns it. Throws EngineError `config_invalid` when
 * there is no file.
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
      const fix = 'must contain 64 hexadecimal digits (openssl rand -hex 32)'
      throw new EngineError('config_invalid', `${where} ${fix}`)
    })
  // `split` returns at least one part.
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
    // `link` fails when the file exists. Of two processes that start at once, both use the first one's key.
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
