/*
 * Asterisk's configuration for a bench: calls on loopback from any peer are bridged to a bot on a WebSocket
 * (chan_websocket) in the caller's own codec, without transcoding; no other modules are loaded.
 */

export interface AsteriskLayout {
  /** Installation folder, with modules and documentation. */
  readonly modulesFolder: string
  readonly dataFolder: string
  /** Folder for everything it writes, including its configuration. */
  readonly folder: string
  readonly sipPort: number
  /** First and last RTP port. */
  readonly rtpPorts: readonly [number, number]
  readonly botPort: number
}

/** The user part of the dialled URI. */
export const BOT_EXTENSION = 'bot'

/** The channel driver and the modules it needs, and no others. */
const MODULES = [
  'res_timing_timerfd',
  'res_sorcery_config',
  'res_sorcery_memory',
  'res_sorcery_astdb',
  'res_pjproject',
  'res_pjsip',
  'res_pjsip_pubsub',
  'res_pjsip_session',
  'res_pjsip_sdp_rtp',
  'res_pjsip_endpoint_identifier_anonymous',
  'res_rtp_asterisk',
  'res_http_websocket',
  'res_websocket_client',
  'chan_pjsip',
  'chan_websocket',
  'pbx_config',
  'app_dial',
  'bridge_simple',
  'codec_alaw',
  'codec_ulaw',
]

/** Files that must exist; empty ones select the defaults. */
const EMPTY = [
  'acl',
  'ccss',
  'cel',
  'chan_websocket',
  'features',
  'indications',
  'pjproject',
  'stasis',
  'udptl',
]

/** Q.850 cause 34, no circuit available: the caller receives 503 and may try again. */
const NO_CIRCUIT = 34

/** Returns the configuration files by name. Throws for a path that such a file cannot contain. */
export function asteriskFiles(place: AsteriskLayout): Readonly<Record<string, string>> {
  const { modulesFolder, dataFolder, folder, sipPort, rtpPorts, botPort } = place
  for (const path of [modulesFolder, dataFolder, folder]) {
    if (/[;\n]/.test(path)) throw new Error(`Asterisk's files cannot name the folder ${path}`)
  }
  const [firstRtp, lastRtp] = rtpPorts
  return {
    ...Object.fromEntries(EMPTY.map((name) => [`${name}.conf`, ''])),
    'asterisk.conf': section('directories', '=>', {
      astetcdir: folder,
      astmoddir: modulesFolder,
      astdatadir: dataFolder,
      ...Object.fromEntries(
        ['varlib', 'db', 'key', 'agi', 'spool', 'run', 'log'].map((name) => [`ast${name}dir`, folder]),
      ),
    }),
    'modules.conf': [
      section('modules', '=', { autoload: 'no' }),
      ...MODULES.map((name) => `load = ${name}.so\n`),
    ].join(''),
    'logger.conf': `${section('general', '=', {})}${section('logfiles', '=>', { console: 'warning,error' })}`,
    'cdr.conf': section('general', '=', { enable: 'no' }),
    'rtp.conf': section('general', '=', { rtpstart: firstRtp, rtpend: lastRtp }),
    'pjsip.conf': [
      section('loopback', '=', { type: 'transport', protocol: 'udp', bind: `127.0.0.1:${sipPort}` }),
      section('anonymous', '=', {
        type: 'endpoint',
        context: 'bench',
        transport: 'loopback',
        disallow: 'all',
        allow: 'alaw',
        direct_media: 'no',
        bind_rtp_to_media_address: 'yes',
        media_address: '127.0.0.1',
      }),
    ].join(''),
    'websocket_client.conf': section('bot', '=', {
      type: 'websocket_client',
      connection_type: 'per_call_config',
      uri: `ws://127.0.0.1:${botPort}/`,
      protocols: 'media',
    }),
    'extensions.conf': [
      '[bench]\n',
      `exten = ${BOT_EXTENSION},1,Dial(WebSocket/bot/c(alaw))\n`,
      ` same = n,Hangup(${NO_CIRCUIT})\n`,
    ].join(''),
  }
}

function section(name: string, assign: string, values: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries(values).map(([key, value]) => `${key} ${assign} ${value}`)
  return `${[`[${name}]`, ...lines].join('\n')}\n`
}
