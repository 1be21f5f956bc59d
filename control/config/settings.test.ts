import { join } from 'node:path'
import t from 'tap'
import { readEnvironment, readSettings, unknownVariables } from './settings.js'
import { VARIABLES } from './variables.js'

const FOLDER = '/srv/parley'

t.test('an empty environment gives the documented defaults', async (t) => {
  const settings = readSettings({}, FOLDER)
  t.ok(settings.mediaWorkers >= 1)
  t.match(settings, {
    httpAddress: '127.0.0.1',
    httpPort: 8080,
    publicUrl: null,
    databaseUrl: 'sqlite:/srv/parley/.data/parley.db',
    dataFolder: '/srv/parley/.data',
    sipListen: [
      { transport: 'udp', address: '127.0.0.1', port: 5060 },
      { transport: 'tcp', address: '127.0.0.1', port: 5060 },
    ],
    rtpAddress: '127.0.0.1',
    rtpPorts: { first: 20000, last: 29999 },
    drachtio: null,
    allowPrivateUrls: false,
    logLevel: 'info',
    rootKey: null,
    providers: { openai: null },
  })
})

t.test('the object store', async (t) => {
  const read = (value: string | null, more: Record<string, string> = {}) =>
    readSettings({ ...(value === null ? {} : { PARLEY_OBJECT_STORE: value }), ...more }, FOLDER).objectStore
  const keys = { AWS_ACCESS_KEY_ID: 'AK', AWS_SECRET_ACCESS_KEY: 'secret' }
  t.same(read(null), { kind: 'folder', path: '/srv/parley/.data/objects' })
  t.same(read('folder:store'), { kind: 'folder', path: '/srv/parley/store' })
  t.same(read('s3://calls'), {
    kind: 's3',
    bucket: 'calls',
    endpoint: null,
    region: 'us-east-1',
    pathStyle: false,
    credentials: null,
  })
  t.same(read('s3://calls?endpoint=https://s3.example.com:9000&region=ap-south-1', keys), {
    kind: 's3',
    bucket: 'calls',
    endpoint: 'https://s3.example.com:9000',
    region: 'ap-south-1',
    pathStyle: true,
    credentials: { accessKeyId: 'AK', secretAccessKey: 'secret' },
  })
  t.match(read('s3://calls?endpoint=https://s3.example.com&pathStyle=false'), { pathStyle: false })
  t.match(read('s3://calls', { ...keys, AWS_SESSION_TOKEN: 'token' }), {
    credentials: { sessionToken: 'token' },
  })
  for (const wrong of [
    'calls',
    'folder:',
    's3://',
    's3://UP_per',
    's3://calls/prefix',
    's3://calls?bucket=x',
    's3://calls?region=a&region=b',
    's3://calls?pathStyle=yes',
    's3://calls?endpoint=ftp://example.com',
  ]) {
    t.throws(() => read(wrong), { code: 'config_invalid', message: /PARLEY_OBJECT_STORE/ }, wrong)
  }
  t.throws(() => read('s3://key:pass@calls'), { message: /AWS_ACCESS_KEY_ID/ })
  t.throws(() => read('s3://calls', { AWS_ACCESS_KEY_ID: 'AK' }), { message: /both/ })
})

t.test('every variable is read', async (t) => {
  const settings = readSettings(
    {
      PARLEY_HTTP_PORT: '0',
      PARLEY_HTTP_ADDRESS: '::1',
      PARLEY_PUBLIC_URL: 'https://voice.example.com/',
      PARLEY_DATA: 'store',
      PARLEY_DATABASE_URL: 'postgres://u:p@db/parley',
      PARLEY_SIP_LISTEN: 'udp:0.0.0.0:5070, tcp:[::1]:0,tls:127.0.0.1:5061',
      PARLEY_SIP_ADVERTISE: '203.0.113.9',
      PARLEY_SIP_TLS_CERT: 'tls/cert.pem',
      PARLEY_SIP_TLS_KEY: '/etc/key.pem',
      PARLEY_RTP_ADDRESS: '192.168.1.5',
      PARLEY_RTP_PORTS: 'any',
      PARLEY_MEDIA_WORKERS: '3',
      PARLEY_DRACHTIO_URL: 'tcp://:s3%40cret@10.0.0.5',
      PARLEY_ALLOW_PRIVATE_URLS: '1',
      PARLEY_LOG_LEVEL: 'debug',
      PARLEY_ROOT_KEY: 'ab'.repeat(32),
      PARLEY_OPENAI_BASE_URL: 'http://127.0.0.1:8000/v1/',
      PARLEY_OPENAI_CHAT_MODEL: 'llama',
      PARLEY_OPENAI_SPEECH_RATE: '16000',
    },
    FOLDER,
  )
  t.match(settings, {
    httpAddress: '::1',
    httpPort: 0,
    publicUrl: 'https://voice.example.com',
    databaseUrl: 'postgres://u:p@db/parley',
    dataFolder: '/srv/parley/store',
    sipListen: [
      { transport: 'udp', address: '0.0.0.0', port: 5070 },
      { transport: 'tcp', address: '::1', port: 0 },
      { transport: 'tls', address: '127.0.0.1', port: 5061 },
    ],
    sipAdvertise: '203.0.113.9',
    sipTls: { certificate: '/srv/parley/tls/cert.pem', key: '/etc/key.pem', authorities: null },
    rtpPorts: { first: 0, last: 0 },
    mediaWorkers: 3,
    drachtio: { host: '10.0.0.5', port: 9022, secret: 's3@cret' },
    allowPrivateUrls: true,
    logLevel: 'debug',
    rootKey: 'ab'.repeat(32),
    providers: {
      openai: {
        baseUrl: 'http://127.0.0.1:8000/v1',
        apiKey: null,
        chatModel: 'llama',
        speechRate: 16000,
      },
    },
  })
  t.match(readSettings({ PARLEY_OPENAI_API_KEY: 'k' }, FOLDER).providers.openai, {
    baseUrl: 'https://api.openai.com/v1',
    apiKey: 'k',
  })
})

t.test('a speech vendor is configured when its key is set', async (t) => {
  const { providers } = readSettings(
    {
      PARLEY_DEEPGRAM_API_KEY: 'd',
      PARLEY_SARVAM_API_KEY: 's',
      PARLEY_SARVAM_LANGUAGE_FIELD: 'language_code',
      PARLEY_ELEVENLABS_API_KEY: 'e',
      PARLEY_ELEVENLABS_URL: 'wss://api.in.residency.elevenlabs.io/',
      PARLEY_ELEVENLABS_VOICES: 'asha=21m00Tcm, ravi=f91b',
    },
    FOLDER,
  )
  t.same(providers, {
    openai: null,
    gemini: null,
    deepgram: { apiKey: 'd', baseUrl: 'wss://api.deepgram.com' },
    sarvam: { apiKey: 's', baseUrl: 'wss://api.sarvam.ai', languageField: 'language_code' },
    elevenlabs: {
      apiKey: 'e',
      baseUrl: 'wss://api.in.residency.elevenlabs.io',
      voices: [
        { name: 'asha', id: '21m00Tcm' },
        { name: 'ravi', id: 'f91b' },
      ],
    },
    anthropic: null,
    assemblyai: null,
    azure: null,
    cartesia: null,
    google: null,
    soniox: null,
  })
  for (const [voices, url] of [
    ['asha', 'wss://x'],
    ['asha=1,asha=2', 'wss://x'],
    ['asha=1', 'https://x'],
  ]) {
    t.throws(
      () =>
        readSettings(
          { PARLEY_CARTESIA_API_KEY: 'c', PARLEY_CARTESIA_VOICES: voices, PARLEY_CARTESIA_URL: url },
          FOLDER,
        ),
      { code: 'config_invalid' },
    )
  }
})

const WRONG: readonly [name: string, value: string, fix: RegExp][] = [
  ['PARLEY_HTTP_PORT', '80a', /PARLEY_HTTP_PORT=80a: set a whole number from 0 to 65535/],
  ['PARLEY_HTTP_PORT', '65536', /from 0 to 65535/],
  ['PARLEY_HTTP_ADDRESS', 'localhost', /IP address/],
  ['PARLEY_PUBLIC_URL', 'voice.example.com', /http:\/\/ or https:\/\//],
  ['PARLEY_PUBLIC_URL', 'https://x.example/?a=1', /without query/],
  ['PARLEY_DATABASE_URL', 'mysql://u:secretword@h/d', /^PARLEY_DATABASE_URL: set sqlite:<file>/],
  ['PARLEY_SIP_LISTEN', 'sctp:127.0.0.1:5061', /transport:address:port/],
  ['PARLEY_SIP_LISTEN', 'udp:example.com:5060', /transport:address:port/],
  ['PARLEY_SIP_LISTEN', 'udp:127.0.0.1:70000', /transport:address:port/],
  ['PARLEY_SIP_LISTEN', 'wss:127.0.0.1:443', /PARLEY_SIP_TLS_CERT: .*\n.*PARLEY_SIP_TLS_KEY: /],
  ['PARLEY_SIP_TLS_CERT', 'cert.pem', /PARLEY_SIP_TLS_KEY: set the PEM file of the key/],
  ['PARLEY_SIP_TLS_CA', 'ca.pem', /PARLEY_SIP_TLS_CERT: set the PEM file of the certificate/],
  ['PARLEY_SIP_ADVERTISE', 'sip.example.com', /IP address/],
  ['PARLEY_RTP_ADDRESS', '1.2.3', /IP address/],
  ['PARLEY_ICE_ADDRESS', 'media.example.com', /IP address/],
  ['PARLEY_RTP_PORTS', '30000-20000', /first-last/],
  ['PARLEY_RTP_PORTS', '80-20000', /first-last/],
  ['PARLEY_MEDIA_WORKERS', '0', /from 1 to 256/],
  ['PARLEY_VAD_MODEL', '/nowhere/model.onnx', /name an ONNX file, or unset it/],
  ['PARLEY_TURN_MODEL', '/nowhere/model.onnx', /name an ONNX file, or unset it/],
  ['PARLEY_DRACHTIO_URL', 'tcp://secretword@h:9022', /^PARLEY_DRACHTIO_URL: set tcp:/],
  ['PARLEY_ALLOW_PRIVATE_URLS', 'yes', /true or false/],
  ['PARLEY_LOG_LEVEL', 'loud', /one of debug, info, warn, error, silent/],
  ['PARLEY_ROOT_KEY', 'secretword', /^PARLEY_ROOT_KEY: set 64 hexadecimal digits/],
  ['PARLEY_DASHBOARD_URL', 'app.example.com', /PARLEY_DASHBOARD_URL=app.example.com: set an http/],
  ['PARLEY_TRUSTED_PROXIES', 'all', /PARLEY_TRUSTED_PROXIES=all: set a comma-separated list/],
  ['PARLEY_TRUSTED_PROXIES', '10.0.0.0/33', /comma-separated list of addresses and networks/],
  ['PARLEY_TRUSTED_PROXIES', '10.0.0.1,', /comma-separated list of addresses and networks/],
  ['PARLEY_TSA_URL', 'ftp://u:secretword@h', /^PARLEY_TSA_URL: set http/],
  ['PARLEY_TSA_CA', 'missing.pem', /^PARLEY_TSA_CA=missing\.pem: ENOENT/],
  ['PARLEY_SMTP_URL', 'mail:secretword@h', /^PARLEY_SMTP_URL: set smtp:/],
  ['PARLEY_MAIL_FROM', 'nobody', /PARLEY_MAIL_FROM=nobody: set an address/],
  ['PARLEY_MAIL_FROM', 'A <a@b.c>, B <b@b.c>', /set an address/],
  [
    'PARLEY_SECRET_SCANNING_SECRET',
    'secretword',
    /^PARLEY_SECRET_SCANNING_SECRET: set at least 32 characters/,
  ],
  ['PARLEY_OPENAI_BASE_URL', 'ftp://x', /PARLEY_OPENAI_BASE_URL=ftp:\/\/x: set an http/],
  ['PARLEY_DEEPGRAM_URL', 'wss://x', /PARLEY_DEEPGRAM_URL.*also set PARLEY_DEEPGRAM_API_KEY/],
  ['PARLEY_OPENAI_CHAT_MODEL', 'gpt', /PARLEY_OPENAI_CHAT_MODEL.*PARLEY_OPENAI_BASE_URL or/],
]

t.test('an invalid value is rejected with the name of its variable and the fix', async (t) => {
  for (const [name, value, fix] of WRONG) {
    t.throws(() => readSettings({ [name]: value }, FOLDER), { code: 'config_invalid', message: fix }, name)
  }
})

t.test('a model of GPT-Live is refused, because the realtime socket does not serve it', async (t) => {
  const read = (models: string) =>
    readSettings({ PARLEY_OPENAI_API_KEY: 'k', PARLEY_OPENAI_REALTIME_MODELS: models }, FOLDER)
  t.throws(() => read('gpt-realtime-2.1,gpt-live-1.1'), {
    code: 'config_invalid',
    message: /PARLEY_OPENAI_REALTIME_MODELS.*leave out gpt-live-1\.1: GPT-Live is not served/,
  })
  t.ok(read('gpt-realtime-2.1'))
})

t.test('all invalid variables are named at once, secrets without their value', async (t) => {
  try {
    readSettings({ PARLEY_HTTP_PORT: 'x', PARLEY_ROOT_KEY: 'secretword' }, FOLDER)
    t.fail('must throw')
  } catch (error) {
    const lines = (error as Error).message.split('\n')
    t.equal(lines.length, 2)
    t.notMatch((error as Error).message, /secretword/)
  }
})

t.test('.env supplies variables that the environment lacks', async (t) => {
  const folder = t.testdir({ '.env': '# comment\nPARLEY_HTTP_PORT=9000\nPARLEY_DATA="my data"\n' })
  const environment = readEnvironment(folder, { PARLEY_HTTP_PORT: '9001' })
  t.equal(readSettings(environment, folder).httpPort, 9001)
  t.equal(readSettings(environment, folder).dataFolder, join(folder, 'my data'))
  t.same(readEnvironment(t.testdir({}), { A: 'b' }), { A: 'b' })
})

t.test('misspelled variables are found, and no variable is listed twice', async (t) => {
  t.same(unknownVariables({ PARLEY_HTP_PORT: '1', PARLEY_DATA: 'x', HOME: '/' }), ['PARLEY_HTP_PORT'])
  t.equal(new Set(VARIABLES.map(({ name }) => name)).size, VARIABLES.length)
})

t.test('relays', async (t) => {
  const read = (PARLEY_TURN_URLS: string, PARLEY_TURN_SECRET: string) =>
    readSettings({ PARLEY_TURN_URLS, PARLEY_TURN_SECRET }, FOLDER).turn
  t.equal(read('', ''), null)
  const urls = ['turn:turn.example.com:3478', 'turns:[2001:db8::1]:443?transport=tcp']
  t.same(read(urls.join(', '), 'secret'), { urls, secret: 'secret' })
  for (const wrong of [
    'stun:a.example',
    'turn:',
    'turn:a b',
    'turn:a.example?transport=tls',
    'turn:a.example,',
  ])
    t.throws(() => read(wrong, 'secret'), /PARLEY_TURN_URLS=.*set a comma-separated list/, wrong)
  t.throws(() => read('turn:a.example', ''), /PARLEY_TURN_SECRET/)
  t.throws(() => read('', 'secret'), /PARLEY_TURN_URLS/)
})
