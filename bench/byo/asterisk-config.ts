/*
 * What Asterisk is told for a bench: calls on loopback, from anybody, are bridged to a bot on a WebSocket
 * (chan_websocket) in the caller's own codec, so that nothing is transcoded, and nothing else is loaded.
 */

export interface AsteriskLayout {
  /** Where it was installed to: modules and documentation are found below these. */
  readonly modulesFolder: string
  readonly dataFolder: string
  /** A folder of its own for everything it writes; its configuration is here too. */
  readonly folder: string
  readonly sipPort: number
  /** First and last RTP port. */
  readonly rtpPorts: readonly [number, number]
  readonly botPort: number
}

/** What is dialled: the user part of the URI. */
export const BOT_EXTENSION = 'bot'

/** Channel driver, its kin, and what they ask for; no more, so that no more runs. */
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

/** Files it wants to find, and goes by its defaults in. */
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

/** Q.850 cause 34, no circuit available: the caller hears 503 and may try again. */
const NO_CIRCUIT = 34

/** The files of its configuration by name. Throws for a path that such a file cannot hold. */
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
