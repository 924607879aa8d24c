// Swagger UI over our own OpenAPI document; it sends no request to another origin.

const root = document.documentElement.dataset.root ?? "";

if (window.SwaggerUIBundle) begin();
else document.getElementById("problem").hidden = false;

function begin() {
  window.SwaggerUIBundle({
    url: `${root}/openapi.json`,
    dom_id: "#swagger",
    deepLinking: true,
    docExpansion: "none",
    filter: true,
    // Its default is a service on the internet, which would be told our address.
    validatorUrl: null,
  });
}
