import type { Essentials } from '../message/message-validation.js'
import { headerOf, type SipRequest } from '../message/sip-message.js'

/** User-Agents of tools that look for SIP servers to abuse: names of complete products only. */
const AGENTS =
  /friendly-(?:scanner|request)|sip-?vicious|sipcli\b|sip-?scan|sundayddr|\biwar\b|vax(?:sip|ip)useragent|pplsip|siparmyknife|\bsmap\b|sip ?cracker|\bgulp\b|conaito|elite?sip|sippts/i

/** Signatures of the same tools: sipvicious signs its From, nmap calls itself nm. */
const SIGNATURES = /sip-?vicious|<sip:nm2?@nm2?>/i

/** Returns whether a request shows the signature of a scanner. A scanner can hide it; most do not. */
export function isScanner(request: SipRequest, essentials: Essentials): boolean {
  const agent = headerOf(request, 'User-Agent')
  if (agent !== null && AGENTS.test(agent)) return true
  if (/^sip:nm2?$/i.test(request.uri)) return true
  return SIGNATURES.test(headerOf(request, 'From') ?? '') || essentials.callId.includes('sipvicious')
}
