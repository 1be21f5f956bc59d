import { Router } from 'express'
import { throttle } from '../access/throttle.js'
import type { Deps } from '../api/deps.js'
import type { GatewayOrder, PaymentGateway } from '../api/payment-gateway.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { escapeHtml } from '../base/html.js'
import { readAddressToken } from '../base/signed-address.js'
import type { TopupRow } from '../db/tables/payments.js'
import type { Exchange } from '../http/exchange.js'
import { checkoutUrl, checkSoon } from '../payments/start-topup.js'
import { findTopup } from '../payments/topup-store.js'
import { htmlPage } from './account-html.js'
import { readForm } from './form.js'
import { textsFor } from './page-texts.js'

/*
 * The checkout page of a top-up, at a signed address. It shows what is paid and leads to the gateway with a plain
 * form. The gateway sends the browser back here: that return carries no cookie and no Origin of the service, and
 * only makes the service ask the gateway.
 */

const RETURNS_PER_MINUTE = 20

interface OpenCheckout {
  readonly topup: TopupRow
  readonly order: GatewayOrder
  readonly gateway: PaymentGateway
}

export function checkoutPages(deps: Deps): Router {
  const router = Router({ caseSensitive: true, strict: true })
  router.get('/pay/:token', async (request, response) => {
    const exchange: Exchange = response.locals.exchange
    const found = await findCheckout(deps, String(request.params.token))
    if (isRefusal(found)) sendRefusal(exchange, found)
    else sendCheckout(deps, exchange, found)
  })
  router.post('/pay/:token', async (request, response) => {
    const exchange: Exchange = response.locals.exchange
    const found = await findCheckout(deps, String(request.params.token))
    if (isRefusal(found)) return sendRefusal(exchange, found)
    const { topup, order, gateway } = found
    const limited = await throttle(deps, `checkout ${topup.id}`, RETURNS_PER_MINUTE)
    if (limited !== null) return sendRefusal(exchange, limited)
    const fields = await readForm(exchange, deps.clock)
    if (isRefusal(fields)) return sendRefusal(exchange, fields)
    const proven = await gateway.takeReturn(order, fields)
    deps.log.info({ topupId: topup.id, proven }, 'payment.browser_returned')
    await checkSoon(deps, topup.id, exchange.requestId)
    // A reload of the page must not send the form again.
    response.redirect(303, checkoutUrl(deps, topup))
  })
  return router
}

async function findCheckout(deps: Deps, token: string): Promise<OpenCheckout | Refusal> {
  const { db, rootKey, clock, payments } = deps
  const grant = readAddressToken(rootKey, 'checkout', token, clock.wall())
  const topup = grant === null ? null : await findTopup(db, grant.subject)
  if (topup === null || topup.gatewayRef === null || payments?.id !== topup.gateway) {
    return refuse('not_found', 'The address is wrong or has expired. Start a new top-up.')
  }
  const order = { topupId: topup.id, ref: topup.gatewayRef, payablePaise: topup.payablePaise }
  return { topup, order, gateway: payments }
}

function sendCheckout(deps: Deps, exchange: Exchange, { topup, order, gateway }: OpenCheckout): void {
  const { action, fields, buttons } = gateway.checkoutForm(order, checkoutUrl(deps, topup))
  const { checkout } = textsFor(exchange.request)
  const rupees = new Intl.NumberFormat(checkout.locale, { style: 'currency', currency: 'INR' })
  const amount = (paise: number) => escapeHtml(rupees.format(paise / 100))
  const arrived = topup.paymentId !== null
  const sandbox = gateway.real ? '' : `<p class="note">${checkout.sandbox}</p>\n`
  const again = topup.status === 'created' ? ` <a href="">${checkout.again}</a>` : ''
  const summary = `${sandbox}<p role="status">${checkout.states[topup.status]}${again}</p>
<dl><dt>${checkout.forWallet}</dt><dd>${amount(topup.amountPaise)}</dd>
<dt>GST</dt><dd>${amount(topup.payablePaise - topup.amountPaise)}</dd>
<dt>${arrived ? checkout.paid : checkout.toPay}</dt><dd>${amount(topup.payablePaise)}</dd></dl>
`
  // The sandbox also refunds here. A real payment is made once.
  const shown = topup.status === 'refunded' ? [] : buttons.filter(({ paid }) => paid === arrived)
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  )
  // Another site gets only the fields that it expects.
  const name = action === null ? ' name="outcome"' : ''
  const outcomes = shown.map(({ label, value }, index) => {
    const second = arrived || index > 0 ? ' class="second"' : ''
    return `<button type="submit"${name} value="${value}"${second}>${escapeHtml(checkout.button(value, label))}</button>`
  })
  const form = `<form method="post"${action === null ? '' : ` action="${escapeHtml(action)}"`}>
${[...inputs, ...outcomes].join('\n')}
</form>
`
  const target = action === null ? "'self'" : `'self' ${new URL(action).origin}`
  send(exchange, 200, shown.length > 0 ? summary + form : summary, target)
}

function sendRefusal(exchange: Exchange, refusal: Refusal): void {
  for (const [name, value] of Object.entries(refusal.headers)) exchange.response.setHeader(name, value)
  const text = textsFor(exchange.request).refused(refusal)
  send(exchange, refusal.status, `<p role="alert">${escapeHtml(text)}</p>\n`, "'none'")
}

/** `formTargets`: origins that the page may send forms to. */
function send({ request, response }: Exchange, status: number, content: string, formTargets: string): void {
  const { language, checkout } = textsFor(request)
  const back = `<p><a href="../dashboard/live/wallet">${checkout.back}</a></p>\n`
  const html = htmlPage(language, checkout.title, content + back, '../')
  const policy = `default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; base-uri 'none'; form-action ${formTargets}; frame-ancestors 'none'`
  response
    .status(status)
    .set({ 'content-security-policy': policy })
    .vary('accept-language')
    .type('html')
    .send(html)
}
