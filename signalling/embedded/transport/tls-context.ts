import { createSecureContext, type SecureVersion } from 'node:tls'
import { EngineError, errorText } from '../../../media/base/errors.js'

/** Certificates as PEM text. */
export interface TlsSettings {
  /** Our certificate, then the intermediate ones; shown to clients, and to servers that ask for one. */
  readonly certificate: string
  readonly key: string
  /** Authorities peers' certificates must come from, instead of the system's. */
  readonly authorities?: string
  /** Whether the certificates of servers we connect to are checked. Default true. */
  readonly verifyServers?: boolean
  /** Whether clients must show a certificate of those authorities. Default false. */
  readonly verifyClients?: boolean
}

/** Options for the two sides of a TLS connection, checked once. */
export interface TlsContext {
  readonly server: Common & { readonly requestCert: boolean; readonly rejectUnauthorized: boolean }
  readonly client: Common & { readonly rejectUnauthorized: boolean }
}

interface Common {
  readonly cert: string
  readonly key: string
  readonly ca?: string
  readonly minVersion: SecureVersion
}

/** Throws EngineError `config_invalid` when certificate and key cannot be used together. */
export function tlsContext(settings: TlsSettings): TlsContext {
  const { certificate, key, authorities, verifyServers = true, verifyClients = false } = settings
  // RFC 8996: nothing below TLS 1.2.
  const common = {
    cert: certificate,
    key,
    minVersion: 'TLSv1.2',
    ...(authorities === undefined ? {} : { ca: authorities }),
  } as const
  try {
    createSecureContext(common)
  } catch (error) {
    throw new EngineError('config_invalid', `TLS certificate or key: ${errorText(error)}`, { cause: error })
  }
  return {
    server: { ...common, requestCert: verifyClients, rejectUnauthorized: verifyClients },
    client: { ...common, rejectUnauthorized: verifyServers },
  }
}
