import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { EngineError, errorText } from '../../media/base/errors.js'
import { isEspeakInstalled } from '../../media/vendors/espeak/installed.js'
import type { ProviderSettings } from '../../workers/channel/protocol.js'
import { type CarrierSettings, readCarriers } from './carriers.js'
import { catalogueFile } from './catalogue-file.js'
import { type DndServiceSetting, dndFile } from './dnd-file.js'
import { readFallbacks } from './fallbacks.js'
import { type KnowledgeSettings, readKnowledge } from './knowledge.js'
import { type ObjectStoreSetting, objectStore } from './object-store.js'
import {
  choice,
  type DrachtioServer,
  databaseUrl,
  drachtioUrl,
  flag,
  folder,
  hexKey,
  hostName,
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
  speechModelFile,
  text,
} from './parsers.js'
import {
  type GstSetting,
  gstFile,
  type PaymentSetting,
  paymentSetting,
  SPECIMEN_GST,
  webhookSecrets,
} from './payments.js'
import { type PolicyChanges, policyFile } from './policy-file.js'
import { certificateFile, type TimeStampAuthority, timeStampUrl } from './time-stamp-authority.js'
import type { TlsFiles } from './tls-files.js'
import { readTrunkFile, type TrunkFile } from './trunk-file.js'
import { type TurnSettings, turnSettings, turnUrls } from './turn.js'
import { VARIABLES, type VariableName } from './variables.js'
import { readVendors } from './vendors.js'

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
  /** Maximum number of connections to PostgreSQL, besides two for lists and reports. */
  readonly databaseConnections: number
  /** Time limit of one statement on PostgreSQL (s), except those of lists and reports. */
  readonly databaseStatementSeconds: number
  /** Absolute path of the folder for the database, the recordings and the root key. */
  readonly dataFolder: string
  /** Object store of recordings and documents. */
  readonly objectStore: ObjectStoreSetting
  readonly sipListen: readonly SipAddress[]
  /** Address that peers outside a NAT see. Null uses the bound address. */
  readonly sipAdvertise: string | null
  /** Host name that customers' telephone systems connect to. Null uses the address. */
  readonly sipHost: string | null
  /** Networks that are never banned as SIP sources, besides those of the trunks. */
  readonly sipExempt: readonly string[]
  /** PEM files. Null without TLS. */
  readonly sipTls: TlsFiles | null
  readonly rtpAddress: string
  /** Public address of the media ports for browsers; null when it is `rtpAddress`. */
  readonly iceAddress: string | null
  /** Inclusive port range. 0 and 0 use any free ports. */
  readonly rtpPorts: { readonly first: number; readonly last: number }
  readonly mediaWorkers: number
  /** An external drachtio-server. Null runs the embedded SIP server. */
  readonly drachtio: DrachtioServer | null
  /** The operator's own trunks and the path of the file that defines them. */
  readonly trunkFile: { readonly path: string; readonly file: TrunkFile } | null
  /** Accounts at carriers that sell numbers. */
  readonly carriers: CarrierSettings
  /** The operator's changes of the rules of the compliance gate. Null changes none. */
  readonly policyFile: PolicyChanges | null
  /** Service that is asked about the DND register. Null asks scrub files only. */
  readonly dndService: DndServiceSetting | null
  /** Time-stamps the heads of evidence chains. Null asks none. */
  readonly timeStampAuthority: TimeStampAuthority | null
  /** Sum of the adjustments of one wallet in 24 hours (rupees) that need no second member of staff. */
  readonly adjustmentLimitRupees: number
  /** For development: URLs given by customers may be private and unencrypted. */
  readonly allowPrivateUrls: boolean
  /** Time that live calls may continue after SIGTERM before they are ended (s). */
  readonly drainSeconds: number
  /** Silence of a far side after which it is asked whether it still has the call (s). 0 never asks. */
  readonly mediaTimeoutSeconds: number
  /** Free space of the data folder below which the service is not ready (MiB). 0 switches the check off. */
  readonly minFreeMb: number
  /** Least time between two calls to one person from different campaigns (minutes). */
  readonly callGapMinutes: number
  /** Time that the SIP messages of calls are kept (h). 0 keeps none. */
  readonly sipTraceHours: number
  /** Media threads hold calls with themselves before the service is ready. */
  readonly warmUp: boolean
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
  /** Relays for calls from the browser; null without any. */
  readonly turn: TurnSettings | null
  /** `smtp(s)://...`. Null writes mail to files in the data folder. */
  readonly smtpUrl: string | null
  readonly mailFrom: string
  /** Secret that signs reports of leaked keys. Null refuses all reports. */
  readonly secretScanningSecret: string | null
  /** Gateway of top-ups. Null has none. */
  readonly payments: PaymentSetting | null
  /** Supplier, rates and number series of invoices. Those of specimens without a file. */
  readonly gst: GstSetting
  /** Models that help to search knowledge bases. */
  readonly knowledge: KnowledgeSettings
  readonly providers: ProviderSettings
}

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
  const gst = optional('PARLEY_GST_FILE', gstFile(folderPath))
  const tsa = optional('PARLEY_TSA_URL', timeStampUrl)
  const authorities = optional('PARLEY_TSA_CA', certificateFile(folderPath))
  const partial = {
    httpAddress: read('PARLEY_HTTP_ADDRESS', '127.0.0.1', ipAddress),
    httpPort: read('PARLEY_HTTP_PORT', '8080', integer(0, 65_535)),
    publicUrl: optional('PARLEY_PUBLIC_URL', httpUrl),
    databaseUrl: read(
      'PARLEY_DATABASE_URL',
      `sqlite:${join(dataFolder ?? '', 'parley.db')}`,
      databaseUrl(folderPath),
    ),
    databaseConnections: read('PARLEY_DATABASE_CONNECTIONS', '10', integer(2, 500)),
    databaseStatementSeconds: read('PARLEY_DATABASE_STATEMENT_SECONDS', '10', integer(1, 600)),
    dataFolder,
    objectStore: read(
      'PARLEY_OBJECT_STORE',
      `folder:${join(dataFolder ?? '', 'objects')}`,
      objectStore(folderPath, given),
    ),
    sipListen: read('PARLEY_SIP_LISTEN', 'udp:127.0.0.1:5060,tcp:127.0.0.1:5060', sipAddresses),
    sipAdvertise: optional('PARLEY_SIP_ADVERTISE', ipAddress),
    sipHost: optional('PARLEY_SIP_HOST', hostName),
    sipExempt: optional('PARLEY_SIP_EXEMPT', networks) ?? [],
    sipTls: readSipTls(folderPath, given, (complaint) => wrong.push(complaint)),
    carriers: readCarriers(given, read, (complaint) => wrong.push(complaint)),
    rtpAddress: read('PARLEY_RTP_ADDRESS', '127.0.0.1', ipAddress),
    iceAddress: optional('PARLEY_ICE_ADDRESS', ipAddress),
    rtpPorts: read('PARLEY_RTP_PORTS', '20000-29999', portRange),
    mediaWorkers: read(
      'PARLEY_MEDIA_WORKERS',
      String(Math.max(1, availableParallelism() - 1)),
      integer(1, 256),
    ),
    warmUp: read('PARLEY_WARM_UP', 'true', flag),
    drachtio: optional('PARLEY_DRACHTIO_URL', drachtioUrl),
    trunkFile: optional('PARLEY_TRUNKS_FILE', trunkFile(folderPath, environment)),
    policyFile: optional('PARLEY_POLICY_FILE', policyFile(folderPath)),
    dndService: optional('PARLEY_DND_FILE', dndFile(folderPath)),
    timeStampAuthority: tsa === null ? null : { ...tsa, authorities },
    adjustmentLimitRupees: read('PARLEY_ADJUSTMENT_LIMIT_RUPEES', '100000', integer(0, 10_000_000)),
    allowPrivateUrls: read('PARLEY_ALLOW_PRIVATE_URLS', 'false', flag),
    callGapMinutes: read('PARLEY_CALL_GAP_MINUTES', '60', integer(0, 10_080)),
    drainSeconds: read('PARLEY_DRAIN_SECONDS', '60', integer(0, 7200)),
    mediaTimeoutSeconds: read('PARLEY_MEDIA_TIMEOUT_SECONDS', '15', integer(0, 7200)),
    minFreeMb: read('PARLEY_MIN_FREE_MB', '256', integer(0, 1_000_000)),
    sipTraceHours: read('PARLEY_SIP_TRACE_HOURS', '24', integer(0, 720)),
    compressRecordings: read('PARLEY_RECORDING_OPUS', 'false', flag),
    vadModel: optional('PARLEY_VAD_MODEL', speechModelFile(folderPath)),
    speculate: read('PARLEY_SPECULATE', 'true', flag),
    turnModel: optional('PARLEY_TURN_MODEL', onnxFile(folderPath)),
    logLevel: read('PARLEY_LOG_LEVEL', 'info', choice('debug', 'info', 'warn', 'error', 'silent')),
    rootKey: optional('PARLEY_ROOT_KEY', hexKey),
    opsToken: optional('PARLEY_OPS_TOKEN', longSecret),
    otlpEndpoint: optional('OTEL_EXPORTER_OTLP_ENDPOINT', httpUrl),
    dashboardUrl: optional('PARLEY_DASHBOARD_URL', httpUrl),
    trustedProxies: optional('PARLEY_TRUSTED_PROXIES', networks) ?? [],
    turn: turnSettings(
      optional('PARLEY_TURN_URLS', turnUrls),
      optional('PARLEY_TURN_SECRET', text),
      (complaint) => wrong.push(complaint),
    ),
    smtpUrl: optional('PARLEY_SMTP_URL', smtpUrl),
    mailFrom: read('PARLEY_MAIL_FROM', 'Parley <parley@localhost>', mailAddress),
    secretScanningSecret: optional('PARLEY_SECRET_SCANNING_SECRET', longSecret),
    payments: paymentSetting(
      read('PARLEY_PAYMENT_GATEWAY', 'none', choice('none', 'sandbox', 'razorpay')) ?? 'none',
      {
        keyId: optional('PARLEY_RAZORPAY_KEY_ID', text),
        keySecret: optional('PARLEY_RAZORPAY_KEY_SECRET', text),
        webhookSecrets: optional('PARLEY_RAZORPAY_WEBHOOK_SECRETS', webhookSecrets),
        url: read('PARLEY_RAZORPAY_URL', 'https://api.razorpay.com/v1', httpUrl) ?? '',
      },
      given('PARLEY_GST_FILE') !== null,
      (complaint) => wrong.push(complaint),
    ),
    gst: gst ?? SPECIMEN_GST,
    knowledge: readKnowledge(given, read, providers),
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
