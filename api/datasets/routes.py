"""``/.well-known/void``: the description of the datasets."""

from fastapi import APIRouter, Request, Response

from api import formats
from api.access.scoped import scoped
from api.connection import while_connected
from api.datasets.void import PATH, void_description
from api.negotiation import negotiate
from api.rdf import document
from api.services import Use
from api.sparql import response

router = APIRouter(tags=["SPARQL"])


@router.get(
    PATH,
    summary="The datasets, as VoID",
    response_class=Response,
    responses={
        200: {
            "description": "The datasets with their graphs, sizes and vocabularies",
            "content": {media_type: {} for media_type in formats.RDF},
        }
    },
)
@scoped
async def void(request: Request, services: Use) -> Response:
    """The datasets, their named graphs with numbers of triples, and where to begin."""
    what = "the description of the datasets is served as RDF"
    accept = request.headers.getlist("accept")
    media_type = negotiate(accept, formats.RDF, what)
    node = await while_connected(request, void_description(services))
    body = await document(node, services.settings.base, media_type)
    return response(body, media_type, cut=node.cut)
