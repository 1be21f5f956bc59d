import { readFileSync } from 'node:fs'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { TlsSettings } from '../../signalling/embedded/transport/tls-context.js'

/** PEM files of the SIP server: its certificate, its key and the authorities it trusts. */
export interface TlsFiles {
  readonly certificate: string
  readonly key: string
  readonly authorities: string | null
}

/** Reads the files. Throws EngineError `config_invalid` naming a file that cannot be read. */
export function readTls({ certificate, key, authorities }: TlsFiles): TlsSettings {
  return {
    certificate: read(certificate),
    key: read(key),
    ...(authorities === null ? {} : { authorities: read(authorities) }),
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new EngineError('config_invalid', `${path}: ${errorText(error)}`, { cause: error })
  }
}
