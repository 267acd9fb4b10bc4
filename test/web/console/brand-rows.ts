import { listBrands, saveDraft, setDraftImage } from '../../../src/brands/brand-acts.ts'
import { acceptLook, giveLook } from '../../../src/partners/client-look.ts'
import { check, drawPng, putSecondBrandInForce, secondWords } from '../../support/brand.ts'
import type { Aim, ConsoleRows } from '../../support/console-rows.ts'
import type { TestGateway } from '../../support/gateway.ts'

const home = '/console/brand/live'

/** A draft with a logo, whatever was there before; its version. */
async function draft({ gateway, act }: TestGateway): Promise<number> {
  const { db } = gateway.context
  const before = (await listBrands(db, 'live')).draft
  await saveDraft(db, 'live', secondWords, before?.version ?? 0, act())
  await setDraftImage(db, 'live', 'logoLight', await check(drawPng(64, 16)), act())
  return (await listBrands(db, 'live')).draft!.version
}

const onDraft = (verb: string, fields = {}): Aim =>
  async function aim(house) {
    return { address: `${home}${verb}`, fields: { version: String(await draft(house)), ...fields } }
  }

/** A client whose partner has said something of it. */
const onLook = (verb: string, isShown = false): Aim =>
  async function aim(house) {
    const { db } = house.gateway.context
    const client = await house.makeClient()
    const words = {
      purpose: 'Shows your holdings.',
      website: 'https://app.example.com',
      privacyUrl: null,
      termsUrl: null,
    }
    await giveLook(db, client, words, await check(drawPng(32, 32)), house.act())
    if (isShown) await acceptLook(db, client, 1, house.act())
    return {
      address: `/console/partners/${client.branchId}/clients/${client.id}/look${verb}`,
      fields: { version: '1' },
    }
  }

const ofClient = '/console/partners/:branch/clients/:client/look'

export const brandRows: ConsoleRows = {
  pages: {
    [ofClient]: onLook('', true),
    [`${ofClient}/logo`]: onLook('/logo'),
    '/console/brand/:site': onDraft(''),
    '/console/brand/:site/preview': onDraft('/preview?page=consent&mode=dark'),
  },
  forms: {
    [`${ofClient}/accept`]: onLook('/accept'),
    [`${ofClient}/decline`]: onLook('/decline'),
    [`${ofClient}/withdraw`]: onLook('/withdraw', true),
    '/console/brand/:site/save': onDraft('/save', { ...secondWords, shortName: 'Southwind' }),
    '/console/brand/:site/image': async (house, who) => {
      const { address, fields } = await onDraft('/image', { place: 'favicon' })(house, who)
      return { address, fields: fields!, files: { image: drawPng(32, 32) } }
    },
    '/console/brand/:site/image/remove': onDraft('/image/remove', { place: 'logoLight' }),
    '/console/brand/:site/activate': onDraft('/activate'),
    '/console/brand/:site/discard': onDraft('/discard'),
    '/console/brand/:site/return': async (house) => {
      const { active } = await listBrands(house.gateway.context.db, 'live')
      if (!active) await putSecondBrandInForce(house, 'live', { images: false })
      return { address: `${home}/return` }
    },
  },
}
