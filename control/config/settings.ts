import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { EngineError, errorText } from '../../media/base/errors.js'
import { isEspeakInstalled } from '../../media/vendors/espeak/installed.js'
import type { Variable } from '../../media/vendors/vendor-module.js'
import type { ProviderSettings } from '../../workers/channel/protocol.js'
import { CATALOGUE_VARIABLES, catalogueFile } from './catalogue-file.js'
import { FALLBACK_VARIABLES, readFallbacks } from './fallbacks.js'
import {
  choice,
  type DrachtioServer,
  databaseUrl,
  drachtioUrl,
  flag,
  folder,
  hexKey,
  httpUrl,
  integer,
  invalid,
  ipAddress,
  longSecret,
  mailAddress,
  networks,
  onnxFile,
  type Parsed,
  portRange,
  type SipAddress,
  sipAddresses,
  smtpUrl,
} from './parsers.js'
import type { TlsFiles } from './tls-files.js'
import { readTrunkFile, type TrunkFile } from './trunk-file.js'
import { readVendors, VENDOR_VARIABLES } from './vendors.js'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** All settings of the service, read once at start. */
export interface Settings {
  readonly httpAddress: string
  /** 0 binds any free port. */
  readonly httpPort: number
  /**
   * Base URL of the absolute addresses that the API returns, without a trailing slash. Null uses the bound
   * address.
   */
  readonly publicUrl: string | null
  readonly databaseUrl: string
  /** Absolute path of the folder for the database, the recordings and the root key. */
  readonly dataFolder: string
  readonly sipListen: readonly SipAddress[]
  /** Address that peers outside a NAT see. Null uses the bound address. */
  readonly sipAdvertise: string | null
  /** Networks that are never banned as SIP sources, besides those of the trunks. */
  readonly sipExempt: readonly string[]
  /** PEM files. Null without TLS. */
  readonly sipTls: TlsFiles | null
  readonly rtpAddress: string
  /** Inclusive port range. 0 and 0 use any free ports. */
  readonly rtpPorts: { readonly first: number; readonly last: number }
  readonly mediaWorkers: number
  /** An external drachtio-server. Null runs the embedded SIP server. */
  readonly drachtio: DrachtioServer | null
  /** The operator's own trunks and the path of the file that defines them. */
  readonly trunkFile: { readonly path: string; readonly file: TrunkFile } | null
  /** For development: URLs given by customers may be private and unencrypted. */
  readonly allowPrivateUrls: boolean
  /** Time that live calls may continue after SIGTERM before they are ended (s). */
  readonly drainSeconds: number
  /** Time that the SIP messages of calls are kept (h). 0 keeps none. */
  readonly sipTraceHours: number
  /** Writes an Opus copy beside each recording. */
  readonly compressRecordings: boolean
  /** ONNX file of a neural voice detector. Null uses the built-in detector alone. */
  readonly vadModel: string | null
  readonly turnModel: string | null
  readonly speculate: boolean
  readonly logLevel: LogLevel
  readonly rootKey: string | null
  /** Bearer token of GET /v1/metrics. Null refuses all requests. */
  readonly opsToken: string | null
  /** Base URL of an OTLP/HTTP collector. Null sends no traces. */
  readonly otlpEndpoint: string | null
  /** URL at which people use the service, without a trailing slash. Null uses the public URL. */
  readonly dashboardUrl: string | null
  /** Addresses and networks whose `X-Forwarded-For` header is trusted. */
  readonly trustedProxies: readonly string[]
  /** `smtp(s)://...`. Null writes mail to files in the data folder. */
  readonly smtpUrl: string | null
  readonly mailFrom: string
  /** Secret that signs reports of leaked keys. Null refuses all reports. */
  readonly secretScanningSecret: string | null
  readonly providers: ProviderSettings
}

const SERVICE_VARIABLES = [
  { name: 'PARLEY_HTTP_PORT', default: '8080', description: 'Port of the API; 0 binds any free port' },
  { name: 'PARLEY_HTTP_ADDRESS', default: '127.0.0.1', description: 'Address on which the API listens' },
  {
    name: 'PARLEY_PUBLIC_URL',
    default: 'http://<address>:<port>',
    description: 'Base URL of the absolute addresses that the API returns',
  },
  { name: 'PARLEY_DATA', default: '.data', description: 'Folder for the database, recordings and root key' },
  {
    name: 'PARLEY_DATABASE_URL',
    default: 'sqlite:<data>/parley.db',
    description: 'sqlite:<file> or postgres://user:password@host/name',
    secret: true,
  },
  {
    name: 'PARLEY_SIP_LISTEN',
    default: 'udp:127.0.0.1:5060,tcp:127.0.0.1:5060',
    description: 'SIP addresses, comma-separated transport:address:port; udp, tcp, tls, ws or wss',
  },
  {
    name: 'PARLEY_SIP_ADVERTISE',
    default: '',
    description: 'Address in Via and Contact of SIP messages when the machine is behind a NAT',
  },
  {
    name: 'PARLEY_SIP_EXEMPT',
    default: '',
    description:
      "Addresses and networks that the embedded SIP server never bans, besides loopback and the trunks'",
  },
  {
    name: 'PARLEY_SIP_TLS_CERT',
    default: '',
    description:
      'PEM file with the certificate chain for tls and wss addresses and for connections to TLS servers',
  },
  {
    name: 'PARLEY_SIP_TLS_KEY',
    default: '',
    description: 'PEM file with the private key of that certificate',
  },
  {
    name: 'PARLEY_SIP_TLS_CA',
    default: '',
    description:
      "PEM file with the authorities that peers' certificates must come from; empty uses the system's",
  },
  { name: 'PARLEY_RTP_ADDRESS', default: '127.0.0.1', description: 'Address on which media is received' },
  {
    name: 'PARLEY_RTP_PORTS',
    default: '20000-29999',
    description: 'UDP ports for media, first-last, or any',
  },
  {
    name: 'PARLEY_MEDIA_WORKERS',
    default: 'cores - 1',
    description: 'Media threads, 1 to 256',
  },
  {
    name: 'PARLEY_VAD_MODEL',
    default: '',
    description: 'ONNX file of a neural voice detector (docs/voice-activity.md); empty uses the built-in one',
  },
  {
    name: 'PARLEY_TURN_MODEL',
    default: '',
    description: 'ONNX file of a turn detection model (docs/turn-taking.md); empty decides by the words',
  },
  {
    name: 'PARLEY_DRACHTIO_URL',
    default: '',
    description: 'External drachtio-server, tcp://:<secret>@host:9022; empty runs the embedded one',
    secret: true,
  },
  {
    name: 'PARLEY_TRUNKS_FILE',
    default: '',
    description: 'JSON file with SIP trunks, their numbers and the agents that answer (docs/sip-trunks.md)',
  },
  {
    name: 'PARLEY_ALLOW_PRIVATE_URLS',
    default: 'false',
    description: 'For development: URLs given by customers may use private addresses and plain http or ws',
  },
  {
    name: 'PARLEY_DRAIN_SECONDS',
    default: '60',
    description: 'Seconds that live calls may continue after SIGTERM before they are ended',
  },
  {
    name: 'PARLEY_SIP_TRACE_HOURS',
    default: '24',
    description: 'Hours that the SIP messages of a call are kept for parley trace; 0 keeps none',
  },
  {
    name: 'PARLEY_SPECULATE',
    default: 'true',
    description:
      'Ask the language model before the end of the turn is certain; false saves requests but answers later',
  },
  {
    name: 'PARLEY_RECORDING_OPUS',
    default: 'false',
    description: 'Write an Opus copy (.opus) beside each recording in the data folder',
  },
  { name: 'PARLEY_LOG_LEVEL', default: 'info', description: 'debug, info, warn, error or silent' },
  {
    name: 'PARLEY_ROOT_KEY',
    default: '<data>/root.key',
    description:
      '64 hexadecimal digits from which all encryption and signing keys are derived; earlier keys follow after commas',
    secret: true,
  },
  {
    name: 'PARLEY_DASHBOARD_URL',
    default: '<public URL>',
    description: 'URL of the dashboard: mails link to it, and its pages may use sessions',
  },
  {
    name: 'PARLEY_TRUSTED_PROXIES',
    default: '',
    description: 'Addresses and networks of reverse proxies whose X-Forwarded-For header is trusted',
  },
  {
    name: 'PARLEY_SMTP_URL',
    default: '',
    description: 'smtp://user:password@host:587 for mail; empty writes mail to <data>/mail',
    secret: true,
  },
  {
    name: 'PARLEY_MAIL_FROM',
    default: 'Parley <parley@localhost>',
    description: 'Sender of the mails',
  },
  {
    name: 'PARLEY_SECRET_SCANNING_SECRET',
    default: '',
    description:
      'Secret that signs reports of leaked API keys, 32 characters or more; empty refuses all reports',
    secret: true,
  },
  {
    name: 'PARLEY_OPS_TOKEN',
    default: '',
    description: 'Bearer token of GET /v1/metrics, 32 characters or more; empty refuses all requests',
    secret: true,
  },
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    default: '',
    description: 'OTLP/HTTP collector for traces, for example http://127.0.0.1:4318; empty sends none',
  },
] as const satisfies readonly Variable[]

/** Every variable, in the order `parley --help` and docs/settings.md show them. */
export const VARIABLES: readonly Variable[] = [
  ...SERVICE_VARIABLES,
  ...VENDOR_VARIABLES,
  ...CATALOGUE_VARIABLES,
  ...FALLBACK_VARIABLES,
]

type VariableName = (typeof SERVICE_VARIABLES | typeof CATALOGUE_VARIABLES)[number]['name']
type Environment = Readonly<Record<string, string | undefined>>

/**
 * Merges the process environment with the `.env` file of `folder`; the environment takes precedence. Throws
 * EngineError `config_invalid` when the file cannot be read.
 */
export function readEnvironment(folderPath: string, environment: Environment = process.env): Environment {
  const path = join(folderPath, '.env')
  if (!existsSync(path)) return environment
  try {
    return { ...parseEnv(readFileSync(path, 'utf8')), ...environment }
  } catch (error) {
    throw new EngineError('config_invalid', `${path} cannot be read: ${errorText(error)}`, { cause: error })
  }
}

/** Returns the names that start with PARLEY_ but are no setting. Most are misspelled. */
export function unknownVariables(environment: Environment): string[] {
  const known = new Set<string>(VARIABLES.map((variable) => variable.name))
  return Object.keys(environment).filter((name) => name.startsWith('PARLEY_') && !known.has(name))
}

/**
 * Reads the settings. Relative paths are relative to `folder`. Throws EngineError `config_invalid` whose
 * message has one line per invalid variable: its name, the problem and the remedy.
 */
export function readSettings(
  environment: Environment,
  folderPath: string,
  espeakInstalled: () => boolean = isEspeakInstalled,
): Settings {
  const wrong: string[] = []
  const given = (name: string): string | null => {
    const value = environment[name]?.trim()
    return value === undefined || value === '' ? null : value
  }
  const read = <T>(name: string, fallback: string, parse: (value: string) => Parsed<T>): T | null => {
    const value = given(name) ?? fallback
    const parsed = parse(value)
    if (parsed.ok) return parsed.value
    const secret = VARIABLES.some((variable) => variable.name === name && 'secret' in variable)
    wrong.push(`${secret ? name : `${name}=${value}`}: ${parsed.fix}`)
    return null
  }
  const optional = <T>(name: VariableName, parse: (value: string) => Parsed<T>): T | null =>
    given(name) === null ? null : read(name, '', parse)

  const dataFolder = read('PARLEY_DATA', '.data', folder(folderPath))
  const catalogue = optional('PARLEY_CATALOGUE_FILE', catalogueFile(folderPath))
  const providers = { ...readVendors(given, read), ...(catalogue === null ? {} : { catalogue }) }
  const partial = {
    httpAddress: read('PARLEY_HTTP_ADDRESS', '127.0.0.1', ipAddress),
    httpPort: read('PARLEY_HTTP_PORT', '8080', integer(0, 65_535)),
    publicUrl: optional('PARLEY_PUBLIC_URL', httpUrl),
    databaseUrl: read(
      'PARLEY_DATABASE_URL',
      `sqlite:${join(dataFolder ?? '', 'parley.db')}`,
      databaseUrl(folderPath),
    ),
    dataFolder,
    sipListen: read('PARLEY_SIP_LISTEN', 'udp:127.0.0.1:5060,tcp:127.0.0.1:5060', sipAddresses),
    sipAdvertise: optional('PARLEY_SIP_ADVERTISE', ipAddress),
    sipExempt: optional('PARLEY_SIP_EXEMPT', networks) ?? [],
    sipTls: readSipTls(folderPath, given, (complaint) => wrong.push(complaint)),
    rtpAddress: read('PARLEY_RTP_ADDRESS', '127.0.0.1', ipAddress),
    rtpPorts: read('PARLEY_RTP_PORTS', '20000-29999', portRange),
    mediaWorkers: read(
      'PARLEY_MEDIA_WORKERS',
      String(Math.max(1, availableParallelism() - 1)),
      integer(1, 256),
    ),
    drachtio: optional('PARLEY_DRACHTIO_URL', drachtioUrl),
    trunkFile: optional('PARLEY_TRUNKS_FILE', trunkFile(folderPath, environment)),
    allowPrivateUrls: read('PARLEY_ALLOW_PRIVATE_URLS', 'false', flag),
    drainSeconds: read('PARLEY_DRAIN_SECONDS', '60', integer(0, 7200)),
    sipTraceHours: read('PARLEY_SIP_TRACE_HOURS', '24', integer(0, 720)),
    compressRecordings: read('PARLEY_RECORDING_OPUS', 'false', flag),
    vadModel: optional('PARLEY_VAD_MODEL', onnxFile(folderPath)),
    speculate: read('PARLEY_SPECULATE', 'true', flag),
    turnModel: optional('PARLEY_TURN_MODEL', onnxFile(folderPath)),
    logLevel: read('PARLEY_LOG_LEVEL', 'info', choice('debug', 'info', 'warn', 'error', 'silent')),
    rootKey: optional('PARLEY_ROOT_KEY', hexKey),
    opsToken: optional('PARLEY_OPS_TOKEN', longSecret),
    otlpEndpoint: optional('OTEL_EXPORTER_OTLP_ENDPOINT', httpUrl),
    dashboardUrl: optional('PARLEY_DASHBOARD_URL', httpUrl),
    trustedProxies: optional('PARLEY_TRUSTED_PROXIES', networks) ?? [],
    smtpUrl: optional('PARLEY_SMTP_URL', smtpUrl),
    mailFrom: read('PARLEY_MAIL_FROM', 'Parley <parley@localhost>', mailAddress),
    secretScanningSecret: optional('PARLEY_SECRET_SCANNING_SECRET', longSecret),
    providers: {
      ...providers,
      ...readFallbacks(given, read, providers),
      ...(espeakInstalled() ? {} : { embeddedVoices: false }),
    },
  }
  if (wrong.length > 0) throw new EngineError('config_invalid', wrong.join('\n'))
  // All required values are set here: `read` returns null only when it also records a problem.
  return partial as Settings
}

/** Certificate and key require each other, and a TLS listener requires both. */
function readSipTls(
  folderPath: string,
  given: (name: VariableName) => string | null,
  complain: (line: string) => void,
): TlsFiles | null {
  const certificate = given('PARLEY_SIP_TLS_CERT')
  const key = given('PARLEY_SIP_TLS_KEY')
  const authorities = given('PARLEY_SIP_TLS_CA')
  const listens = /(?:^|,)\s*(?:tls|wss):/.test(given('PARLEY_SIP_LISTEN') ?? '')
  if (certificate !== null && key !== null) {
    const path = (file: string) => resolve(folderPath, file)
    return {
      certificate: path(certificate),
      key: path(key),
      authorities: authorities === null ? null : path(authorities),
    }
  }
  if (certificate === null && (listens || key !== null || authorities !== null)) {
    complain('PARLEY_SIP_TLS_CERT: set the PEM file of the certificate')
  }
  if (key === null && (listens || certificate !== null)) {
    complain('PARLEY_SIP_TLS_KEY: set the PEM file of the key')
  }
  return null
}

function trunkFile(
  base: string,
  environment: Environment,
): (value: string) => Parsed<{ readonly path: string; readonly file: TrunkFile }> {
  return (value) => {
    const path = resolve(base, value)
    try {
      return { ok: true, value: { path, file: readTrunkFile(path, environment) } }
    } catch (error) {
      return invalid(errorText(error))
    }
  }
}
