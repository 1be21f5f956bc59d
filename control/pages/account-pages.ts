import { createRequire } from 'node:module'
import { type RequestHandler, Router } from 'express'
import { resendVerification, signedUpHere, verifyEmail } from '../access/accounts/sign-up-api.js'
import { findUserByEmail } from '../access/accounts/store.js'
import { acceptInvitation } from '../access/members/invitations-api.js'
import { findInvitation } from '../access/members/store.js'
import { forgotPassword, resetPassword } from '../access/sessions/api.js'
import { readCookie, SIGN_UP_COOKIE } from '../access/sessions/cookies.js'
import type { Deps } from '../api/deps.js'
import type { Operation } from '../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { hasOwnHeaders, type ResponseHeaders } from '../api/reply.js'
import { HINDI_LETTERS } from '../base/page-style.js'
import type { Db } from '../db/database.js'
import { admitAnyone } from '../http/admit.js'
import type { Exchange } from '../http/exchange.js'
import { sessionOrigins } from '../http/origins.js'
import { validate } from '../http/validate.js'
import { readMailToken } from '../mail/mail-tokens.js'
import { ACCOUNT_STYLE, formPage, messagePage } from './account-html.js'
import { readForm } from './form.js'
import { type FieldName, type PageTexts, textsFor } from './page-texts.js'

/*
 * The pages that mails link to. They are plain forms without scripts. A GET shows the form and changes nothing,
 * so that programs that follow links in mails do not use them up. A POST needs an Origin of the service, and
 * runs the operation of the API with the fields of the form.
 */

const FONT = createRequire(import.meta.url).resolve(
  '@fontsource/noto-sans-devanagari/files/noto-sans-devanagari-devanagari-400-normal.woff2',
)

/** Text and fields of a form. */
interface AccountForm {
  readonly text: string
  readonly fields: readonly FieldName[]
}

interface AccountPage {
  readonly path: string
  readonly name: keyof PageTexts['pages']
  readonly operation: Operation
  /** Returns the form for the token of the link, or the reason why the link cannot be used. */
  form(
    deps: Deps,
    texts: PageTexts,
    token: string | null,
    cookie: (name: string) => string | null,
  ): Promise<AccountForm | Refusal>
  /** Page that mails a new link. */
  readonly again?: keyof PageTexts['pages']
}

const PAGES: readonly AccountPage[] = [
  {
    path: 'verify-email',
    name: 'verifyEmail',
    operation: verifyEmail,
    form: verificationForm,
    again: 'resendVerification',
  },
  {
    path: 'resend-verification',
    name: 'resendVerification',
    operation: resendVerification,
    form: async (_deps, { resendHint }) => ({ text: resendHint, fields: ['email'] }),
  },
  {
    path: 'forgot-password',
    name: 'forgotPassword',
    operation: forgotPassword,
    form: async (_deps, { forgotHint }) => ({ text: forgotHint, fields: ['email'] }),
  },
  {
    path: 'reset-password',
    name: 'resetPassword',
    operation: resetPassword,
    form: resetForm,
    again: 'forgotPassword',
  },
  {
    path: 'accept-invitation',
    name: 'acceptInvitation',
    operation: acceptInvitation,
    form: invitationForm,
  },
]

/** No script, own style, forms to the service only. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** Returns the router of the pages that mails link to. */
export function accountPages(deps: Deps): Router {
  const router = Router({ caseSensitive: true, strict: true })
  router.get('/account.css', (_request, response) => {
    response.type('css').send(ACCOUNT_STYLE)
  })
  router.get(`/${HINDI_LETTERS}`, (_request, response) => {
    response.set('cache-control', 'public, max-age=604800').sendFile(FONT)
  })
  for (const page of PAGES) {
    router.get(`/${page.path}`, show(deps, page)).post(`/${page.path}`, submit(deps, page))
  }
  return router
}

function show(deps: Deps, page: AccountPage): RequestHandler {
  return async (request, response) => {
    const exchange: Exchange = response.locals.exchange
    const { originalUrl } = exchange.request
    const mark = originalUrl.indexOf('?')
    const token = new URLSearchParams(mark < 0 ? '' : originalUrl.slice(mark + 1)).get('token')
    const form = await page.form(deps, textsFor(request), token, cookiesOf(exchange))
    if (isRefusal(form)) sendRefusal(exchange, page, form)
    else sendForm(exchange, page, form, new Map(token === null ? [] : [['token', token]]), null)
  }
}

function submit(deps: Deps, page: AccountPage): RequestHandler {
  return async (request, response) => {
    const exchange: Exchange = response.locals.exchange
    if (!sessionOrigins(deps).includes(request.header('origin') ?? '')) {
      const refusal = refuse(
        'forbidden',
        'The form was sent from another site. Open the link in the mail again.',
      )
      return sendRefusal(exchange, page, refusal)
    }
    const limited = await admitAnyone(deps, page.operation, exchange)
    if (limited !== null) return sendRefusal(exchange, page, limited)
    const values = await readForm(exchange, deps.clock)
    if (isRefusal(values)) return sendRefusal(exchange, page, values)
    const form = await page.form(deps, textsFor(request), values.get('token') ?? null, cookiesOf(exchange))
    if (isRefusal(form)) return sendRefusal(exchange, page, form)
    const outcome = await runOperation(deps, page.operation, form, values, exchange)
    if (isRefusal(outcome)) {
      if (outcome.code === 'validation_error') sendForm(exchange, page, form, values, outcome)
      else sendRefusal(exchange, page, outcome)
      return
    }
    if (hasOwnHeaders(outcome)) setHeaders(exchange, outcome.headers)
    const { language, pages, signIn } = textsFor(request)
    const { title, done } = pages[page.name]
    // Pages that ask for a mail lead nowhere before it comes.
    const link = form.fields.includes('email') ? null : { path: 'dashboard/', text: signIn }
    sendHtml(exchange, 200, messagePage(language, title, done, link))
  }
}

/** Runs an operation with the fields of a form as its body. Empty fields are left out. */
async function runOperation(
  deps: Deps,
  operation: Operation,
  form: AccountForm,
  values: ReadonlyMap<string, string>,
  exchange: Exchange,
): Promise<unknown> {
  const filled = form.fields.filter((name) => (values.get(name) ?? '') !== '')
  const body = Object.fromEntries(filled.map((name) => [name, values.get(name)]))
  const valid = operation.body === null ? null : validate(operation.body, body, 'body')
  if (valid?.ok !== true) {
    return refuse('validation_error', 'Some fields are not right.', { issues: valid?.issues ?? [] })
  }
  return operation.run({
    params: {},
    query: {},
    body: valid.value,
    actor: null,
    deps,
    requestId: exchange.requestId,
    idempotencyId: null,
    keep: async (_trx, answer) => answer,
    page: null,
    lastEventId: null,
    cookie: cookiesOf(exchange),
  })
}

const PASSWORD_FIELDS: readonly FieldName[] = ['token', 'password']
const ACCOUNT_FIELDS: readonly FieldName[] = ['token', 'name', 'password']

async function verificationForm(
  { db, rootKey, clock }: Deps,
  texts: PageTexts,
  token: string | null,
  cookie: (name: string) => string | null,
): Promise<AccountForm | Refusal> {
  if (token === null) return { text: texts.setPassword, fields: ACCOUNT_FIELDS }
  const read = await readMailToken(db, rootKey, clock.wall(), 'verify_email', token)
  if (isRefusal(read)) return read
  const { email, organization } = await signedUp(db, read.subjectId)
  const text = texts.signedUp(email, organization)
  return signedUpHere(rootKey, read.subjectId, cookie(SIGN_UP_COOKIE))
    ? { text: `${text} ${texts.confirm}`, fields: ['token'] }
    : { text: `${text} ${texts.confirmAndSet}`, fields: ACCOUNT_FIELDS }
}

async function resetForm(
  { db, rootKey, clock }: Deps,
  texts: PageTexts,
  token: string | null,
): Promise<AccountForm | Refusal> {
  if (token !== null) {
    const read = await readMailToken(db, rootKey, clock.wall(), 'reset_password', token)
    if (isRefusal(read)) return read
  }
  return { text: texts.resetHint, fields: PASSWORD_FIELDS }
}

async function invitationForm(
  { db, rootKey, clock }: Deps,
  texts: PageTexts,
  token: string | null,
): Promise<AccountForm | Refusal> {
  if (token === null) return { text: texts.newMember, fields: ACCOUNT_FIELDS }
  const read = await readMailToken(db, rootKey, clock.wall(), 'invitation', token)
  if (isRefusal(read)) return read
  const invitation = await findInvitation(db, read.subjectId)
  if (invitation === null)
    return refuse('invalid_token', 'The invitation was revoked or replaced by a later one.')
  const { name } = await db
    .selectFrom('organizations')
    .where('id', '=', invitation.organizationId)
    .select('name')
    .executeTakeFirstOrThrow()
  const user = await findUserByEmail(db, invitation.email)
  const text = texts.invited(invitation.email, name, invitation.role)
  return user !== undefined && user.emailVerifiedAt !== null
    ? { text, fields: ['token'] }
    : { text: `${text} ${texts.setNameAndPassword}`, fields: ACCOUNT_FIELDS }
}

async function signedUp(
  db: Db,
  userId: string,
): Promise<{ readonly email: string; readonly organization: string | null }> {
  const { email } = await db
    .selectFrom('users')
    .where('id', '=', userId)
    .select('email')
    .executeTakeFirstOrThrow()
  const owned = await db
    .selectFrom('members as m')
    .innerJoin('organizations as o', 'o.id', 'm.organizationId')
    .where('m.userId', '=', userId)
    .select('o.name')
    .executeTakeFirst()
  return { email, organization: owned?.name ?? null }
}

function cookiesOf({ request }: Exchange): (name: string) => string | null {
  return (name) => readCookie(request.header('cookie'), name)
}

function sendForm(
  exchange: Exchange,
  page: AccountPage,
  form: AccountForm,
  values: ReadonlyMap<string, string>,
  refusal: Refusal | null,
): void {
  const texts = textsFor(exchange.request)
  const { title, button } = texts.pages[page.name]
  const html = formPage({
    ...form,
    texts,
    title,
    button,
    action: page.path,
    values,
    refusal,
  })
  sendHtml(exchange, refusal?.status ?? 200, html)
}

function sendRefusal(exchange: Exchange, page: AccountPage, refusal: Refusal): void {
  setHeaders(exchange, refusal.headers)
  const texts = textsFor(exchange.request)
  const again = PAGES.find(({ name }) => name === page.again)
  const link = again === undefined ? null : { path: again.path, text: texts.pages[again.name].title }
  const { title } = texts.pages[page.name]
  sendHtml(exchange, refusal.status, messagePage(texts.language, title, texts.refused(refusal), link))
}

function setHeaders({ response }: Exchange, headers: ResponseHeaders): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
}

function sendHtml({ response }: Exchange, status: number, html: string): void {
  response
    .status(status)
    // With `no-referrer`, browsers would send the form with `Origin: null`.
    .set({ 'content-security-policy': POLICY, 'referrer-policy': 'same-origin' })
    .vary('accept-language')
    .type('html')
    .send(html)
}
