import { createSecureContext, type SecureVersion } from 'node:tls'
import { EngineError, errorText } from '../../../media/base/errors.js'

/** Certificates as PEM text. */
export interface TlsSettings {
  /** Our certificate followed by intermediate ones, shown to clients and to servers that request one. */
  readonly certificate: string
  readonly key: string
  /** Trusted authorities for certificates of peers. Default: those of the system. */
  readonly authorities?: string
  /** True if certificates of servers we connect to are verified. Default true. */
  readonly verifyServers?: boolean
  /** True if clients must show a certificate of a trusted authority. Default false. */
  readonly verifyClients?: boolean
}

/** Options for both sides of a TLS connection, checked once. */
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

/** Builds the TLS options. Throws EngineError `config_invalid` when certificate and key do not match. */
export function tlsContext(settings: TlsSettings): TlsContext {
  const { certificate, key, authorities, verifyServers = true, verifyClients = false } = settings
  // RFC 8996 deprecates versions below TLS 1.2.
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
