import { type AsteriskPlace, baseFiles, section } from '../../fixtures/sip/asterisk.js'

/*
 * Asterisk's configuration for a bench: calls on loopback from any peer are bridged to a bot on a WebSocket
 * (chan_websocket) in the caller's own codec, without transcoding; no other modules are loaded.
 */

export interface AsteriskLayout extends AsteriskPlace {
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

/** Q.850 cause 34, no circuit available: the caller receives 503 and may try again. */
const NO_CIRCUIT = 34

/** Returns the configuration files by name. Throws for a path that such a file cannot contain. */
export function asteriskFiles(place: AsteriskLayout): Readonly<Record<string, string>> {
  const { sipPort, rtpPorts, botPort } = place
  return {
    ...baseFiles(place, MODULES, rtpPorts),
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
