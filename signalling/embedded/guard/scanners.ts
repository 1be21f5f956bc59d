import type { Essentials } from '../message/message-validation.js'
import { headerOf, type SipRequest } from '../message/sip-message.js'

/** User-Agents of tools that look for SIP servers to abuse. Complete products, not parts of names. */
const AGENTS =
  /friendly-(?:scanner|request)|sip-?vicious|sipcli\b|sip-?scan|sundayddr|\biwar\b|vax(?:sip|ip)useragent|pplsip|siparmyknife|\bsmap\b|sip ?cracker|\bgulp\b|conaito|elite?sip|sippts/i

/** What the same tools write as names: sipvicious signs its From, nmap calls itself nm. */
const SIGNATURES = /sip-?vicious|<sip:nm2?@nm2?>/i

/** Whether a request shows the marks of a scanner. Who wants to hide can; most do not bother. */
export function isScanner(request: SipRequest, essentials: Essentials): boolean {
  const agent = headerOf(request, 'User-Agent')
  if (agent !== null && AGENTS.test(agent)) return true
  if (/^sip:nm2?$/i.test(request.uri)) return true
  return SIGNATURES.test(headerOf(request, 'From') ?? '') || essentials.callId.includes('sipvicious')
}
