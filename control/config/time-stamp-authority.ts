import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { errorText } from '../../media/base/errors.js'
import type { Variable } from '../../media/vendors/vendor-module.js'
import { invalid, type Parsed, valid } from './parsers.js'

export const TSA_VARIABLES = [
  {
    name: 'PARLEY_TSA_URL',
    default: '',
    description:
      'http(s)://[user:password@]host/path of a time stamp authority (RFC 3161) for the heads of evidence chains; empty asks none',
    secret: true,
  },
  {
    name: 'PARLEY_TSA_CA',
    default: '',
    description:
      "PEM file with the authorities that the time stamp authority's certificate must come from; empty accepts any",
  },
] as const satisfies readonly Variable[]

/** A time stamp authority. */
export interface TimeStampAuthority {
  /** Without credentials. */
  readonly url: string
  /** Header `Authorization`, or null. */
  readonly authorization: string | null
  /** Null accepts every authority. */
  readonly authorities: readonly X509Certificate[] | null
}

type Address = Omit<TimeStampAuthority, 'authorities'>

export function timeStampUrl(value: string): Parsed<Address> {
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.hash !== '') {
    return invalid('set http(s)://[user:password@]host/path, for example http://timestamp.digicert.com')
  }
  const { username, password } = url
  url.username = ''
  url.password = ''
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const authorization = username === '' ? null : `Basic ${Buffer.from(text).toString('base64')}`
  return valid({ url: url.href, authorization })
}

/** Returns a parser that reads the certificates of a PEM file; a relative path is below `base`. */
export function certificateFile(base: string): (value: string) => Parsed<readonly X509Certificate[]> {
  return (value) => {
    try {
      const blocks = readFileSync(resolve(base, value), 'utf8').match(PEM) ?? []
      return blocks.length === 0
        ? invalid('name a PEM file with at least one certificate')
        : valid(blocks.map((block) => new X509Certificate(block)))
    } catch (error) {
      return invalid(errorText(error))
    }
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]{1,40000}-----END CERTIFICATE-----/g
