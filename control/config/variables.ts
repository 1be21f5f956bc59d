import type { Variable } from '../../media/vendors/vendor-module.js'
import { CARRIER_VARIABLES } from './carriers.js'
import { CATALOGUE_VARIABLES } from './catalogue-file.js'
import { DND_VARIABLES } from './dnd-file.js'
import { FALLBACK_VARIABLES } from './fallbacks.js'
import { KNOWLEDGE_VARIABLES } from './knowledge.js'
import { OBJECT_STORE_VARIABLES } from './object-store.js'
import { PAYMENT_VARIABLES } from './payments.js'
import { POLICY_VARIABLES } from './policy-file.js'
import { TSA_VARIABLES } from './time-stamp-authority.js'
import { TURN_VARIABLES } from './turn.js'
import { VENDOR_VARIABLES } from './vendors.js'

const SERVICE_VARIABLES = [
  { name: 'PARLEY_HTTP_PORT', default: '8080', description: 'Port of the API; 0 binds any free port' },
  { name: 'PARLEY_HTTP_ADDRESS', default: '127.0.0.1', description: 'Address on which the API listens' },
  {
    name: 'PARLEY_PUBLIC_URL',
    default: 'http://<address>:<port>',
    description: 'Base URL of the absolute addresses that the API returns',
  },
  {
    name: 'PARLEY_DATA',
    default: '.data',
    description: 'Folder for the database, the root key and recordings in progress',
  },
  {
    name: 'PARLEY_DATABASE_URL',
    default: 'sqlite:<data>/parley.db',
    description: 'sqlite:<file> or postgres://user:password@host/name',
    secret: true,
  },
  {
    name: 'PARLEY_DATABASE_CONNECTIONS',
    default: '10',
    description:
      'Maximum number of connections of this process to PostgreSQL; two more read lists and reports',
  },
  {
    name: 'PARLEY_DATABASE_STATEMENT_SECONDS',
    default: '10',
    description:
      'Time limit of one statement on PostgreSQL; a connection without an answer a second later counts as lost',
  },
  ...OBJECT_STORE_VARIABLES,
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
    name: 'PARLEY_SIP_HOST',
    default: '',
    description: 'Host name that telephone systems of customers connect to; empty names the address',
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
    name: 'PARLEY_ICE_ADDRESS',
    default: '',
    description:
      'Address to which browsers send media when the machine is behind a NAT; empty means PARLEY_RTP_ADDRESS alone',
  },
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
    name: 'PARLEY_WARM_UP',
    default: 'true',
    description:
      'Media threads hold calls with themselves before the service is ready, so that no caller waits for the compiler; false starts sooner, for development',
  },
  {
    name: 'PARLEY_VAD_MODEL',
    default: '',
    description:
      'Neural voice detector: silero, or an ONNX file (docs/voice-activity.md); empty uses the built-in one',
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
  ...CARRIER_VARIABLES,
  ...POLICY_VARIABLES,
  ...DND_VARIABLES,
  ...TSA_VARIABLES,
  ...TURN_VARIABLES,
  {
    name: 'PARLEY_ADJUSTMENT_LIMIT_RUPEES',
    default: '100000',
    description:
      'Adjustments of a wallet by staff that sum up to more in 24 hours need a second member of staff',
  },
  {
    name: 'PARLEY_ALLOW_PRIVATE_URLS',
    default: 'false',
    description: 'For development: URLs given by customers may use private addresses and plain http or ws',
  },
  {
    name: 'PARLEY_CALL_GAP_MINUTES',
    default: '60',
    description:
      'Least number of minutes between two calls to one person by different campaigns or callbacks of an organization',
  },
  {
    name: 'PARLEY_DRAIN_SECONDS',
    default: '60',
    description: 'Seconds that live calls may continue after SIGTERM before they are ended',
  },
  {
    name: 'PARLEY_MEDIA_TIMEOUT_SECONDS',
    default: '15',
    description:
      'Seconds without RTP and RTCP after which the far side of a call is asked by OPTIONS whether it still has the call (docs/sip-trunks.md); 0 never asks, so that silence ends no call',
  },
  {
    name: 'PARLEY_MIN_FREE_MB',
    default: '256',
    description:
      'Free space of the data folder (MiB) below which `/v1/ready` answers 503, because recordings and the database are about to fail; 0 switches this off',
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
  ...PAYMENT_VARIABLES,
] as const satisfies readonly Variable[]

/** Every variable, in the order `parley --help` and docs/settings.md show them. */
export const VARIABLES: readonly Variable[] = [
  ...SERVICE_VARIABLES,
  ...VENDOR_VARIABLES,
  ...CATALOGUE_VARIABLES,
  ...FALLBACK_VARIABLES,
  ...KNOWLEDGE_VARIABLES,
]

/** Names of the variables that `settings.ts` reads itself. */
export type VariableName = (typeof SERVICE_VARIABLES | typeof CATALOGUE_VARIABLES)[number]['name']
