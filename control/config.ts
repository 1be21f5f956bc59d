import type { ProviderSettings } from '../workers/protocol.js'

export interface SipAddress {
  readonly transport: 'udp' | 'tcp'
  readonly address: string
  /** 0 takes any free port. */
  readonly port: number
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Everything an operator can set, read once at start. */
export interface Settings {
  readonly httpAddress: string
  /** 0 takes any free port. */
  readonly httpPort: number
  /** Base of absolute addresses the API hands out, without a slash at the end; null: derived from the bound port. */
  readonly publicUrl: string | null
  readonly databaseUrl: string
  /** Absolute path of the folder for the database, recordings and the root key. */
  readonly dataFolder: string
  readonly sipListen: readonly SipAddress[]
  readonly rtpAddress: string
  readonly rtpPorts: { readonly first: number; readonly last: number }
  readonly mediaWorkers: number
  /** `tcp://host:port?secret=...` of an external drachtio-server; null runs the embedded one. */
  readonly drachtioUrl: string | null
  /** Development: customer-given URLs may be private and plain. */
  readonly allowPrivateUrls: boolean
  readonly logLevel: LogLevel
  readonly rootKey: string | null
  readonly providers: ProviderSettings
}
